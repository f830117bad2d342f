"""Pages for people: contests, boards, submitting, finals and organising. They work without JavaScript."""
