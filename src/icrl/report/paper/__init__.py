"""The paper's figures and tables, ours beside them: `icrl paper`."""
