package owed

import (
	"context"

	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// TakeOpen moves the open records of a session from another root into this one.
func TakeOpen(ctx context.Context, reg, other *sessions.Registry, sid string) error {
	from, err := other.SubIfThere(Directory)
	if err != nil || from == nil {
		return err
	}
	defer from.Close()
	reg.Due.LookBy(reg.Now())
	return atomicfile.WithLock(ctx, from, sid+".lock", func() error {
		records, err := ReadRecords(from, sid)
		if err != nil {
			return err
		}
		if err := AddRecords(ctx, reg, sid, true, records...); err != nil {
			return err
		}
		return atomicfile.UnlessAbsent(from.Remove(sid + Suffix))
	})
}
