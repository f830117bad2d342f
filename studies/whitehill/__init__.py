"""Labelings that an AUC leaves possible, and attacks on contests (Whitehill 2019), made anew."""
