// Package confedit edits the text of other programs' JSON and TOML files. It keeps every byte
// outside the edit: comments, order, indentation, line endings. The package reads and writes no
// file, and has no state. Only one goroutine may use a document.
package confedit
