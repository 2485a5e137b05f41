package install

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"c2c/install/confedit"
	"c2c/internal/format"
)

// folderTrust looks in trustedFolders.json for the person's answer to the client's question whether
// to trust the project: {FOLDER: "TRUST_FOLDER" | "TRUST_PARENT" | "DO_NOT_TRUST"}. The answer for
// the nearest folder around the project counts. In an untrusted folder the client starts no MCP
// server, and after a "no" it does not ask again.
func folderTrust(client string, o Options) []format.Finding {
	dir, _ := configDir(client, o)
	path := filepath.Join(dir, "trustedFolders.json")
	finding := problem(client, "folder trust", path, "")
	f, err := ReadFile(path)
	var rules map[string]string
	if err == nil && f.Data != nil {
		var plain []byte // the file may have comments
		if plain, err = hujson.Standardize(slices.Clone(f.Data)); err == nil {
			err = json.Unmarshal(plain, &rules)
		}
	}
	if err != nil {
		finding.Detail = err.Error()
		return []format.Finding{finding}
	}
	nearest, answer := "", ""
	for folder, rule := range rules {
		trusted := filepath.Clean(folder)
		if rule == "TRUST_PARENT" {
			trusted = filepath.Dir(trusted)
		}
		if inside := strings.HasPrefix(o.Project+"/", strings.TrimSuffix(trusted, "/")+"/"); inside && len(trusted) > len(nearest) {
			nearest, answer = trusted, rule
		}
	}
	if answer != "DO_NOT_TRUST" { // without an answer the client asks when its person starts it here
		return nil
	}
	finding.Detail = client + " was told not to trust " + nearest + ", so c2c's tools are missing there; remove the line from the file, and start " + client + " again"
	return []format.Finding{finding}
}

// inbound reports a setting crossSessionInbound with which the person has forbidden other sessions
// to wake this client.
func inbound(client, path string, set *hujson.Value) []format.Finding {
	detail, forbids := map[string]string{
		"refuse": "crossSessionInbound is refuse, so mail wakes no model: the next prompt or tool call brings it; remove that from the file",
		"hold":   "crossSessionInbound is hold, so mail wakes the model only after the person has accepted it; remove that from the file",
	}[confedit.Text(set)]
	if !forbids {
		return nil
	}
	return []format.Finding{{Client: client, Status: format.Warning, Part: "consent", Path: path, Detail: detail}} // mail still arrives
}

// mcpRules looks in settings files for lists that keep the client from using our server:
// mcp.excluded and mcp.allowed. A name is allowed if at least one of the files allows it.
func mcpRules(client string, paths ...string) (found []format.Finding) {
	const without = "so the client does not start c2c's server, and the model has no tools of c2c: correct the list"
	only, allowed := "", false
	for _, path := range paths {
		data := Content(path)
		if confedit.Lists(data, serverName, "mcp", "excluded") {
			found = append(found, problem(client, "approval", path, "mcp.excluded names c2c, "+without))
		}
		if names := confedit.Texts(confedit.Member(data, "mcp", "allowed")); slices.Contains(names, serverName) {
			allowed = true
		} else if len(names) > 0 {
			only = path
		}
	}
	if only != "" && !allowed {
		found = append(found, problem(client, "approval", only, "mcp.allowed does not name c2c, "+without))
	}
	return found
}
