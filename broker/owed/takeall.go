package owed

import (
	"context"

	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// TakeAll moves all records of another root into this one. If the process is killed meanwhile, this root may have some closed records
// twice; they count once.
func TakeAll(ctx context.Context, reg, other *sessions.Registry) error {
	reg.Due.LookBy(reg.Now())
	from, err := other.SubIfThere(Directory)
	if err != nil || from == nil {
		return err
	}
	defer from.Close()
	sids, err := Sessions(from)
	for _, sid := range sids {
		if err == nil {
			err = atomicfile.WithLock(ctx, from, sid+".lock", func() error { return takeOpen(ctx, reg, from, sid) })
		}
	}
	if err != nil {
		return err
	}
	to, err := reg.Dir().Sub(Directory, true)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, name := range []string{ClosedOld, ClosedFile} {
		data, err := from.ReadIf(name)
		if err != nil {
			return err
		}
		if data != nil {
			KeepClosed(reg, to, data)
			if err := from.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOpen moves the open records of one session.
func takeOpen(ctx context.Context, reg *sessions.Registry, from *atomicfile.Dir, sid string) error {
	records, err := ReadRecords(from, sid)
	if err != nil {
		return err
	}
	if err := AddRecords(ctx, reg, sid, true, records...); err != nil {
		return err
	}
	return from.Remove(sid + Suffix)
}
