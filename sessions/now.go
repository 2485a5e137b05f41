package sessions

import (
	"time"

	"c2c/wake"
)

// Now is what a session does now. Only what something tells is said.
type Now struct {
	Does  State     `json:"does"`
	Since time.Time `json:"since,omitzero"`     // UTC; zero: not known
	Known string    `json:"known_by,omitempty"` // ByProcess, ByRecord, ByHook, ByPlugin, …
	// Dir is the client's directory in which files change when this does, if there is one.
	Dir string `json:"-"`
}

// followed says whether it is a ringer that hears from the session's client what it does.
func (s Session) followed() bool {
	return s.Facts.TurnBy == wake.ByServer || s.Facts.TurnBy == wake.ByPlugin
}

// ToldByHooks says whether a session's hooks tell what it does.
func (s Session) ToldByHooks() bool { return s.Turn != "" && !s.followed() }
