package broker

// Version is the version of both programs and of the MCP server. CHANGELOG.md begins with it.
const Version = "v0.1.0"
