"""Pages for people: contests, boards, submitting, finals and organising. They work without JavaScript.

`run` imports them. The API shares `context.KeptPages`, which keeps what was rendered once.
"""
