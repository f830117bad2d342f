"""Curves as pure functions of counts: ROC, precision-recall, reliability, decision."""
