// Package confedit edits the text of JSON and TOML files that belong to somebody else: every byte that an edit does not
// concern stays, with comments, order, indentation and line endings. It reads and writes no file, and keeps nothing. A
// document belongs to one goroutine.
package confedit
