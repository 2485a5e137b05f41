package broker

// Version is the version of the programs c2c and c2cd, and of the MCP server. CHANGELOG.md begins
// with it.
const Version = "v0.1.0"
