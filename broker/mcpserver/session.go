package mcpserver

import (
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// stdioSession is the one client at the other end of the pipes, as mcp-go wants
// to see it.
type stdioSession struct {
	notifications chan<- mcp.JSONRPCNotification
	initialized   atomic.Bool

	mu           sync.Mutex
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
}

const stdioID = "stdio"

// SessionID is a constant: a process has one client.
func (s *stdioSession) SessionID() string { return stdioID }

// Initialize is called when the client's initialize has been answered.
func (s *stdioSession) Initialize() { s.initialized.Store(true) }

// Initialized reports whether notifications may be sent.
func (s *stdioSession) Initialized() bool { return s.initialized.Load() }

// NotificationChannel is where mcp-go puts notifications for the client.
func (s *stdioSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.notifications
}

// GetClientInfo returns name and version from the client's initialize.
func (s *stdioSession) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// SetClientInfo keeps name and version from the client's initialize.
func (s *stdioSession) SetClientInfo(info mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = info
}

// GetClientCapabilities returns the capabilities from the client's initialize.
func (s *stdioSession) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

// SetClientCapabilities keeps the capabilities from the client's initialize.
func (s *stdioSession) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = c
}
