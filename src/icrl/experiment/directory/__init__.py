"""What a run leaves on disk, and who may write it:
files, their parsing, the lock, whose they are."""
