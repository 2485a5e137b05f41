//go:build portable

package proc

import "iter"

// TCPSockets yields what macOS tells: the sockets of this user's processes.
func TCPSockets(_, port int) iter.Seq[TCPSocket] {
	return func(yield func(TCPSocket) bool) {
		ours := map[string]bool{}
		for _, pid := range All() {
			files, _ := Files(pid)
			for f := range files {
				ours[f.Path] = true
			}
		}
		for s := range tables("/proc/self", port) {
			if ours[s.Link()] && !yield(s) {
				return
			}
		}
	}
}
