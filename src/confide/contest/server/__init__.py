"""Server of the evaluation oracle: contests, submissions and leaderboards over HTTP. FastAPI stays in this room."""
