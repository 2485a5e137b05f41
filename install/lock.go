package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lockTime is the longest wait for another install. An install takes milliseconds.
const lockTime = 10 * time.Second

// lock keeps other installs and uninstalls out until unlock is called. It locks the private
// directory of the journal, so that no lock file is left over. If another process removes the
// directory meanwhile, lock makes it again.
func (p *Plan) lock() (unlock func(), err error) {
	if !p.recorded && p.journal.file.Data == nil {
		return func() {}, nil // there is no journal to lose
	}
	for end := time.Now().Add(lockTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		missing, err := p.journal.file.Change([]byte{}, 0o600).MissingDirs()
		if err != nil {
			return nil, err
		}
		p.made = MergeDirs(p.made, missing)
		if err := p.makeDirs(p.stateDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		f, err := os.Open(p.stateDir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		locked, err := LockDir(f)
		if locked {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", p.stateDir, err)
		}
	}
	RemoveDirs(p.made)
	return nil, fmt.Errorf("lock %s: another c2c install or uninstall is running; try again when it has ended", filepath.Clean(p.stateDir))
}
