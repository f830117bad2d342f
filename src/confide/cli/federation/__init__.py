"""`confide federation`: the coordinator's side of a federation."""
