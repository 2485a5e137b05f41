package main

import (
	"context"

	"c2c/broker"
	"c2c/doctor"
	"c2c/sessions"
)

// checkSurfaces tells how the tools of each session that runs reach c2c, and whether mail wakes it.
func checkSurfaces(ctx context.Context, b *broker.Broker) (found []doctor.Finding) {
	all, err := b.Sessions(ctx)
	if err != nil {
		return nil // whoever looks at the root says so
	}
	for _, s := range all {
		support, why := b.Prober().Surface(s)
		switch support {
		case "":
			continue
		case sessions.SurfaceFull:
			why = "it wakes the session: " + why
		}
		over := "tools over " + s.Transport()
		if s.Transport() == "" {
			over = "it has called no tool of c2c yet"
		}
		found = append(found, doctor.Finding{Session: s.Alias, Status: doctor.OK, Part: "mail of " + s.Alias,
			Detail: why + "; " + over})
	}
	return found
}
