"""The backward step: the constraint function zeta,
its objective and its artefact (Sections 3.2, 3.4, 3.5)."""
