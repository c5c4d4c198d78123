package dataset_test

import (
	"testing"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/stretchr/testify/require"
)

func named(names ...string) []dataset.Row {
	var rows []dataset.Row
	for _, name := range names {
		rows = append(rows, dataset.Row{InstanceID: name})
	}
	return rows
}

// A filter made for IDs with dots, plus and dashes matches exactly those and no longer ID.
func TestCase113_FilterMatchesExactly(t *testing.T) {
	t.Parallel()
	rows := named("a.b-1", "a.b-10", "axb-1", "c+d 2", "ccd 2", "c+d 2.", "z")
	kept, err := dataset.Filter(rows, `^(?:a\.b\-1|c\+d\ 2)$`)
	require.NoError(t, err)
	require.Equal(t, []string{"a.b-1", "c+d 2"}, ids(kept))
}

// A filter without a $ is held against the beginning of the ID, and only there.
func TestFilter(t *testing.T) {
	t.Parallel()
	rows := named("django-1", "sympy-django", "django-2")
	for pattern, want := range map[string][]string{"django": {"django-1", "django-2"}, "a|sympy": {"sympy-django"}, "": {"django-1", "sympy-django", "django-2"}, "x": {}} {
		kept, err := dataset.Filter(rows, pattern)
		require.NoError(t, err)
		require.Equal(t, want, ids(kept), pattern)
	}
	_, err := dataset.Filter(rows, "(?!a)")
	require.ErrorContains(t, err, `filter "(?!a)"`)
}

// Slices are those of Python; the expectations come from it.
func TestSlice(t *testing.T) {
	t.Parallel()
	rows := named("0", "1", "2", "3", "4")
	for spec, want := range map[string]string{
		"": "01234", ":": "01234", "2": "01", "0:2": "01", "1:": "1234", ":-1": "0123", "-2:": "34", "::2": "024", "1::3": "14",
		"::-1": "43210", "3:0:-1": "321", "10:": "", ":10": "01234", "-9:2": "01", "3:1": "", "-1": "0123", "::-9": "4", "-9::-1": "", "0:9:9": "0",
		"9223372036854775807:": "", "-9223372036854775808:": "01234", "::9223372036854775807": "0", "::-9223372036854775808": "4",
	} {
		kept, err := dataset.Slice(rows, spec)
		require.NoError(t, err, spec)
		text := ""
		for _, row := range kept {
			text += row.InstanceID
		}
		require.Equal(t, want, text, spec)
	}
	kept, err := dataset.Slice(rows, " 1 : 3 ")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, ids(kept))
	for _, spec := range []string{"a", "1:b", "::0", "1:2:3:4", "1.5", "99999999999999999999"} {
		_, err := dataset.Slice(rows, spec)
		require.ErrorContains(t, err, spec)
	}
}

// The image of an instance without an image field is named after its ID in lower case, with
// _1776_ for every double underscore.
func TestCase143_ImageName(t *testing.T) {
	t.Parallel()
	row := dataset.Row{InstanceID: "Project__Sub-1"}
	require.Equal(t, "docker.io/swebench/sweb.eval.x86_64.project_1776_sub-1:latest", dataset.ImageFor(row, ""))
	require.Equal(t, "docker.io/swebench/sweb.eval.x86_64.project_1776_sub-1:latest", dataset.ImageFor(row, "amd64"))
	require.Equal(t, "docker.io/swebench/sweb.eval.arm64.project_1776_sub-1:latest", dataset.ImageFor(row, "arm64"))
	require.Equal(t, "docker.io/swebench/sweb.eval.arm64.a_1776_b_1776_c:latest", dataset.ImageFor(dataset.Row{InstanceID: "a__B__c"}, "aarch64"))
	row.ImageName = "Host/Own:Tag"
	require.Equal(t, "Host/Own:Tag", dataset.ImageFor(row, "arm64"), "a field wins and keeps its spelling")
}
