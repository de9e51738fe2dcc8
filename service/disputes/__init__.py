"""Cases: to dispute an event, answer, rule; the texts beside them; the auditor's desk."""
