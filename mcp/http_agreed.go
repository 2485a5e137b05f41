package mcp

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// agreed is what a client and we have agreed on at initialize. mcp-go asks a session for it.
type agreed struct {
	id string

	mu       sync.Mutex
	info     mcp.Implementation
	protocol string
}

// SessionID, Initialize, Initialized and the others below are what mcp-go asks of a session.
func (a *agreed) SessionID() string { return a.id }

// Initialize does nothing: every session began with initialize, and some clients never send the notification.
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
	a.info = mcp.Implementation{Name: cut(info.Name), Version: cut(info.Version)} // all that is used of it
}

// GetClientCapabilities gives none: they are not used, and what is not kept cannot be large.
func (a *agreed) GetClientCapabilities() mcp.ClientCapabilities { return mcp.ClientCapabilities{} }

func (a *agreed) SetClientCapabilities(mcp.ClientCapabilities) {}

// maxInfo bounds what a client says of itself, in bytes.
const maxInfo = 128

func cut(text string) string { return text[:min(len(text), maxInfo)] }

// SetProtocolVersion is called at initialize, with what both sides know.
func (a *agreed) SetProtocolVersion(version string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.protocol = version
}

// version is the revision that was agreed on.
func (a *agreed) version() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.protocol
}

// startsWithEvent says whether a stream begins with an empty event, which has an id (SEP-1699). Older clients would read it
// as a broken message.
func (a *agreed) startsWithEvent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.protocol >= "2025-11-25"
}
