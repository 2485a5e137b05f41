// Package relay tests mail between two machines: two homes in two network namespaces, with OpenSSH
// between them.
package relay
