package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"

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
	token, err := parseToken(data)
	if err != nil {
		return "", fmt.Errorf("%w: %s contains something else: c2c serve rotate-token makes a new one", err, TokenFile(state))
	}
	return token, nil
}

func parseToken(data []byte) (string, error) {
	token := strings.TrimSuffix(string(data), "\n")
	if key, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(token) != tokenLen || len(key) != 32 {
		return "", ErrToken
	}
	return token, nil
}

// isTool reports whether a token is that of the tools. Another process may rotate it at any time. The
// comparison is one of hashes, so its duration reveals nothing about the token.
func (s *Server) isTool(token string) bool {
	want, err := s.tools.Look() // MakeToken and refused requests report an error
	given, sum := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want))
	return err == nil && want != "" && subtle.ConstantTimeCompare(given[:], sum[:]) == 1
}
