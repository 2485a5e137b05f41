package mcp

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// agreed holds the facts on which a client and c2c have agreed at initialize. mcp-go calls the
// exported methods.
type agreed struct {
	id string

	mu       sync.Mutex
	info     mcp.Implementation
	protocol string
}

func (a *agreed) SessionID() string { return a.id }

// Initialize does nothing: every session has begun with the request initialize, and some clients
// never send the notification initialized, at which mcp-go calls this method.
func (a *agreed) Initialize() {}

func (a *agreed) Initialized() bool { return true }

func (a *agreed) GetClientInfo() mcp.Implementation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.info
}

func (a *agreed) SetClientInfo(info mcp.Implementation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	cut := func(text string) string { return text[:min(len(text), 128)] }
	a.info = mcp.Implementation{Name: cut(info.Name), Version: cut(info.Version)} // c2c uses no other field
}

// GetClientCapabilities returns no capabilities: c2c uses none, and keeps none, so that a client
// cannot fill the memory.
func (a *agreed) GetClientCapabilities() mcp.ClientCapabilities { return mcp.ClientCapabilities{} }

func (a *agreed) SetClientCapabilities(mcp.ClientCapabilities) {}

// SetProtocolVersion records the revision that initialize has agreed on.
func (a *agreed) SetProtocolVersion(version string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.protocol = version
}

// version returns the agreed revision.
func (a *agreed) version() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.protocol
}
