// This part lists the AI programs that c2c can wake from outside, each with the functions to do so.

package ringer

import (
	"c2c/wake"
	"c2c/wake/claude"
	"c2c/wake/codex"
	"c2c/wake/kimi"
	"c2c/wake/qwen"
)

// all returns the clients that c2c can wake. A new client gets a line here.
func all() []wake.Client {
	return []wake.Client{claude.Client(), codex.Client(), qwen.Client(), kimi.Client()}
}

// Find returns a client by its name. For an unknown name it returns a Client that has no method to reach a session.
func FindClient(name string) (c wake.Client, known bool) {
	for _, c := range all() {
		if c.Name == name {
			return c, true
		}
	}
	return wake.Client{Name: name, Ways: func(wake.RingContext, wake.Session) (wake.Ways, error) { return wake.Ways{}, nil }}, false
}
