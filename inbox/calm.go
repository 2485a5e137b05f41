package inbox

import "c2c/internal/atomicfile"

// CalmEnd is the end of the name of the empty file <sid>.calm. The file exists while nothing that
// was handed to a session waits for a sign of its client: then a hook need not say that the session
// works, or that its model answers. Whoever archives a message removes the file before, under the
// lock of the archive, so a killed process leaves at most a missing file.
const CalmEnd = ".calm"

func CalmName(sid string) string { return sid + CalmEnd }

// MarkCalm makes the file <sid>.calm if the function isOver returns true for the newest record, or
// if there is none. It does nothing while another process has the archive's lock, because more mail
// may be on its way into the archive.
func (s *Archive) MarkCalm(isOver func(newest ArchiveRecord) bool) error {
	dir, err := s.root.Sub(Dir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := atomicfile.OpenLocked(dir, s.LockName())
	if err != nil {
		return err
	}
	defer lock.Release()
	if free, err := lock.Try(); err != nil || !free {
		return err
	}
	over := true
	err = s.Recent(func(r ArchiveRecord) bool {
		over = isOver(r)
		return false
	})
	if err == nil && over {
		err = s.root.Log(CalmName(s.sid), nil) // this makes the file
	}
	return err
}

// endCalm removes the file <sid>.calm. The caller holds the lock of the archive.
func (s *Archive) endCalm() {
	if err := atomicfile.UnlessAbsent(s.root.Remove(CalmName(s.sid))); err != nil {
		s.log.Warn("the session's next answer may go unseen", "session", s.sid, "err", err)
	}
}
