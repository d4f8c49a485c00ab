"""Names that try to be more than names."""

HOSTILE = "<script>window.hacked = 1</script>|`*[x](y)\x1b[31m\"'&\n\u202eend"
IMAGE = '<img src=x onerror="window.hacked = 2">'
