"""Rules in the formats of other programs: exactly, or more cautiously, or not at all."""
