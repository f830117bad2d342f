"""A site: its folder, data, models, register and answers."""
