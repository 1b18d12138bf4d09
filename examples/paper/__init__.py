"""The paper's programs, in this project's words and repaired where the paper's are broken; README.md says what and why."""
