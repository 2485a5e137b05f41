// Command noop is an MCP server with which bench compares c2c's server: noop <file>. Its tool noop
// only answers. Its tool keep first appends a line to the file and syncs it, which is the least
// work of a tool that hands over mail.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "noop: %v\n", err)
		os.Exit(1)
	}
}

func run(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	line := []byte(strings.Repeat("x", 299) + "\n")
	srv := server.NewMCPServer("noop", "1", server.WithToolCapabilities(false))
	srv.AddTool(mcp.NewTool("noop"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("[]"), nil
	})
	srv.AddTool(mcp.NewTool("keep"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := file.Write(line); err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(line)), file.Sync()
	})
	return server.ServeStdio(srv)
}
