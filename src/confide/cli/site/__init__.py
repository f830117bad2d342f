"""`confide site`: the administrator's side of a site."""
