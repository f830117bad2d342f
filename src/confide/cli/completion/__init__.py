"""`confide completion`: complete commands and options with the Tab key."""
