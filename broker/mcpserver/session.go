package mcpserver

import (
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// stdioSession is the one client at the other end of the pipes, as mcp-go wants
// to see it. What it says of itself comes with its initialize.
type stdioSession struct {
	notifications chan<- mcp.JSONRPCNotification
	initialized   atomic.Bool
	info          held[mcp.Implementation]
	capabilities  held[mcp.ClientCapabilities]
}

// held is a value that several goroutines may set and get.
type held[T any] struct{ p atomic.Pointer[T] }

func (h *held[T]) set(v T) { h.p.Store(&v) }

func (h *held[T]) get() (v T) {
	if p := h.p.Load(); p != nil {
		v = *p
	}
	return v
}

const stdioID = "stdio" // a process has one client

func (s *stdioSession) SessionID() string                                   { return stdioID }
func (s *stdioSession) Initialize()                                         { s.initialized.Store(true) }
func (s *stdioSession) Initialized() bool                                   { return s.initialized.Load() }
func (s *stdioSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }
func (s *stdioSession) GetClientInfo() mcp.Implementation                   { return s.info.get() }
func (s *stdioSession) SetClientInfo(info mcp.Implementation)               { s.info.set(info) }
func (s *stdioSession) GetClientCapabilities() mcp.ClientCapabilities       { return s.capabilities.get() }
func (s *stdioSession) SetClientCapabilities(c mcp.ClientCapabilities)      { s.capabilities.set(c) }
