package ringer

import (
	"testing"

	"c2c/client"
	"c2c/wake"
)

func TestTheRingerKnowsEveryClientWithAProtocolOfItsOwn(t *testing.T) {
	for _, p := range client.All() {
		if c, known := wake.FindClient(p.Name); known != p.Protocol || known && c.Ways == nil {
			t.Errorf("the profile of %s says Protocol: %v, and a package registers it with Ways: %v", p.Name, p.Protocol, known)
		}
	}
}
