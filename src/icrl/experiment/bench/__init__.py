"""`icrl bench`: training speed as a share of the physics' own."""
