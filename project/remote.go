package project

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"c2c/internal/format"
)

// maxURL bounds the URL of a remote.
const maxURL = 4096

// defaultPorts has the usual port of each URL scheme by which git reaches another machine.
var defaultPorts = format.Pairs{
	{"ssh", "22"}, {"git+ssh", "22"}, {"ssh+git", "22"}, {"http", "80"}, {"https", "443"}, {"git", "9418"}, {"ftp", "21"}, {"ftps", "990"},
}

// remoteName returns the name of a remote: host/path. The usual URLs of one repository give the
// same name: a URL with ssh or https, or the short form of ssh (user@host:path), each with or
// without .git. A port counts only if it is not the usual one of the scheme. The user counts only
// if the path is in the user's home. The result ok is false for a remote on this machine (a path,
// file://), for a remote that git reaches with another helper program, for a host in brackets, and
// for text that is not a URL. In these cases only equal texts mean the same repository.
func remoteName(url string) (name string, ok bool) {
	if len(url) > maxURL || !utf8.ValidString(url) || strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", false
	}
	scheme, rest, isURL := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	port := defaultPorts.Of(scheme)
	known := port != ""
	at, path, _ := strings.Cut(rest, "/")
	if !isURL {
		at, path, known = cutShort(url)
	}
	if !known {
		return "", false
	}
	user := ""
	if i := strings.LastIndexByte(at, '@'); i >= 0 {
		user, _, _ = strings.Cut(at[:i], ":")
		at = at[i+1:]
	}
	if strings.ContainsFunc(at, func(r rune) bool { return r >= utf8.RuneSelf }) { // in lower case, two different hosts could become equal
		return "", false
	}
	host, ok := cutPort(strings.ToLower(at), port)
	for last := ""; last != path; {
		last, path = path, strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	}
	if home, ok := strings.CutPrefix(path, "~/"); ok && user != "" {
		path = "~" + user + "/" + home
	}
	if !ok || path == "" {
		return "", false
	}
	return host + "/" + path, true
}

// cutPort cuts the port off a host if it is the usual port. It returns false if the host is not
// valid.
func cutPort(host, usual string) (string, bool) {
	name, port, _ := strings.Cut(host, ":")
	if name == "" || name[0] == '-' || strings.ContainsAny(name, "[]@") || strings.Trim(port, "0123456789") != "" {
		return "", false
	}
	if port == "" || port == usual {
		return name, true
	}
	return name + ":" + port, true
}

// cutShort splits user@host:path at the colon. The result ok is false for other text. As in git,
// text with a slash before the colon is a path on this machine, and the part before two colons is
// the name of a helper program.
func cutShort(url string) (at, path string, ok bool) {
	at, path, ok = strings.Cut(url, ":")
	return at, path, ok && at != "" && !strings.Contains(at, "/") && !strings.HasPrefix(path, ":")
}

// spellings returns the usual URLs of the remote with this name. Older programs made the
// fingerprint of a root from one of these URLs.
func spellings(name string) (urls []string) {
	host, path, _ := strings.Cut(name, "/")
	if host == "" || strings.HasPrefix(path, "~") || strings.Contains(host, ":") {
		return nil // a server with an unusual port has no usual URL
	}
	for _, form := range []string{"https://%s/%s", "git@%s:%s", "ssh://git@%s/%s", "http://%s/%s", "git://%s/%s"} {
		url := fmt.Sprintf(form, host, path)
		urls = append(urls, url+".git", url)
	}
	return urls
}
