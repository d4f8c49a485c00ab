"""Where runs run: in processes of one thread each."""
