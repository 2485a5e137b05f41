// Package registry reads and writes registry.json: the list of the sessions of a root, one row each, in the format of
// the OCaml c2c.
package registry
