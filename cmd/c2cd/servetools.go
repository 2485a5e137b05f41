package main

import (
	"context"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/mcp"
	"c2c/mcp/tools"
	"c2c/serve"
	"c2c/sessions"
)

const (
	maxMessage = 2 << 20         // the greatest size of an MCP message, in bytes
	mcpGrace   = 4 * time.Second // how long the waiting calls may take to end; less than serve.Limits.Grace
)

// serveTools adds the path of the tools. When ctx ends, the waiting calls get an answer. The
// function wait returns after that.
func (h *httpHost) serveTools(ctx context.Context, s *serve.Server, sessionList *atomicfile.Dir) (wait func() error) {
	tools := mcp.NewHTTP(mcp.HTTPConfig{
		Config: tools.Config{Log: h.Log, Uninstalled: func(name string, pid int) bool {
			return pid != 0 && sessions.Uninstalled(h.Getenv, name, pid)
		}},
		Root: s.RootFor, URL: s.URL(),
		Open:        h.openFor,
		Process:     serve.ProcessOf,
		CountStream: serve.CountStream, Sessions: sessionList,
		Limits: mcp.HTTPLimits{Body: maxMessage}, Now: time.Now,
	})
	who := []serve.Kind{serve.Tools}
	s.Handle(
		serve.Route{Pattern: "GET /mcp", Who: who, Stream: true, Handler: tools},
		serve.Route{Pattern: "/mcp", Who: who, Body: maxMessage, Handler: tools})
	s.AddMetrics(h.measure(func() []string { return append(s.Roots(), tools.Roots()...) }, h.statsOf))
	measure, quiet := h.ringStreams(ctx, tools)
	s.AddMetrics(measure)
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), mcpGrace)
		defer cancel()
		ended <- tools.Close(grace)
	})
	return func() error {
		quiet()
		return <-ended
	}
}

// openFor opens the root of a client, and returns an error if the root is gone, because a session
// may be older than the daemon's last start.
func (h *httpHost) openFor(root string, log inbox.Log) (*broker.Broker, error) {
	return broker.OpenThere(h.Getenv, root, log)
}
