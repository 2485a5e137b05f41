package broker

// Version is what both programs and the MCP server say they are. CHANGELOG.md begins with it.
const Version = "v0.1.0"
