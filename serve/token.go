package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"c2c/internal/atomicfile"
)

const (
	tokenFile = "http-mcp-token"
	tokenLen  = 43 // 32 bytes as base64url
)

// ErrToken: the file of the token contains no token, or other users may read the file.
var ErrToken = errors.New("no token that only this user knows")

// MakeToken makes the tool token if there is no file for it. It returns ErrToken if the file cannot
// be used.
func MakeToken(state *atomicfile.Dir) error {
	info, err := state.Stat(tokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return RotateToken(state)
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: other users may read %s (mode %04o): c2c serve rotate-token makes a new one", ErrToken, TokenFile(state), info.Mode().Perm())
	}
	_, err = Token(state)
	return err
}

// RotateToken makes a new tool token, which makes the old token invalid.
func RotateToken(state *atomicfile.Dir) error {
	var key [32]byte
	rand.Read(key[:]) // never fails
	return state.Write(tokenFile, []byte(base64.RawURLEncoding.EncodeToString(key[:])+"\n"))
}

// TokenFile returns the path of the tool token.
func TokenFile(state *atomicfile.Dir) string { return state.Path() + "/" + tokenFile }

// Token returns the token of programs that use c2c's tools. The error is fs.ErrNotExist if no
// daemon has ever run.
func Token(state *atomicfile.Dir) (string, error) {
	data, err := state.Read(tokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSuffix(string(data), "\n")
	if key, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(token) != tokenLen || len(key) != 32 {
		return "", fmt.Errorf("%w: %s contains something else: c2c serve rotate-token makes a new one", ErrToken, TokenFile(state))
	}
	return token, nil
}

// toolToken reads the tool token again whenever the file changes, because another process may
// rotate the token.
type toolToken struct {
	dir *atomicfile.Dir

	mu   sync.Mutex
	file fs.FileInfo
	sum  [sha256.Size]byte
	has  bool
}

// matches reports whether a key is the token. It compares hashes, so its duration reveals nothing
// about the token.
func (t *toolToken) matches(key [sha256.Size]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	return t.has && subtle.ConstantTimeCompare(key[:], t.sum[:]) == 1
}

// refresh reads the file again if it has changed. Without a valid token no key matches. While the
// system opens no more files, the token stays as it was: nobody's token is wrong because of that.
func (t *toolToken) refresh() {
	info, err := t.dir.Stat(tokenFile)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		t.has, t.file = false, nil // other users may know the token; MakeToken and refused requests report that
		return
	}
	if err == nil && t.file != nil && os.SameFile(info, t.file) && info.ModTime().Equal(t.file.ModTime()) && info.Size() == t.file.Size() {
		return
	}
	t.has, t.file = false, nil
	if err != nil {
		return
	}
	token, err := Token(t.dir)
	if err != nil {
		return // the next request tries again
	}
	t.sum, t.has, t.file = sha256.Sum256([]byte(token)), true, info
}
