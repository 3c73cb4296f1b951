"""What a task, a loss term and a switch are, and how they are found: below config, which all else imports."""
