package outside

import (
	"fmt"

	"c2c/internal/atomicfile"
	"c2c/serve"
)

// URL returns the URL at which a sender writes to its first alias. The argument files is the
// directory serve.FilesDir.
func URL(files *atomicfile.Dir, s Sender) string {
	port, err := serve.PortBefore(files)
	if err != nil || port == 0 {
		port = serve.UsualPort
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/in/%s", port, s.To[0])
	if s.Scheme != "" {
		url += "?from=" + s.Name
	}
	return url
}
