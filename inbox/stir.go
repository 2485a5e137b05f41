package inbox

// stir changes the lock file's time after a delivery, for Claude Code, which
// watches a file for a session that has lost its server (FileChanged). Of the
// files of a mailbox this is the one that stays. After one that its reader has
// renamed, version 2.1.329 looks through the whole root whenever anything there
// changes (10 ms of its time in a root of 300 sessions), or it has lost it. And
// it does not see that a file was closed.
func (m *Mailbox) stir() {
	if err := m.root.Touch(m.LockName(), m.now()); err != nil {
		m.log.Warn("a delivery does not show in the lock file's time", "session", m.sid, "err", err)
	}
}
