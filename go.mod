module c2c

go 1.26.0

require (
	github.com/creachadair/tomledit v0.0.27 // indirect
	github.com/creack/pty v1.1.24 // indirect
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/mark3labs/mcp-go v1.2.1 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/tailscale/hujson v0.0.0-20260727124030-b80ff77dac4f // indirect
	golang.org/x/sys v0.49.0 // indirect
)
