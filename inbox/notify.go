package inbox

// notify tells those who watch the lock file that mail waits, or waits again: it
// changes the file's time. Claude Code watches a file for a session that has lost
// its server (FileChanged), and does not see that a file was closed. Of the files
// of a mailbox this is the one that stays. After one that its reader has renamed,
// version 2.1.329 looks through the whole root whenever anything there changes
// (10 ms of its time in a root of 300 sessions), or it has lost it.
func (m *Mailbox) notify() {
	if err := m.root.Touch(m.LockName(), m.now()); err != nil {
		m.log.Warn("new mail does not show in the lock file's time", "session", m.sid, "err", err)
	}
}
