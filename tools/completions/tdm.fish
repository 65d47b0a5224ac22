# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Completion of fish for tdm, which says itself what can come next.
function __tdm_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] .complete $words[2..-1] 2>/dev/null)
    if test "$found" = .files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $found
    end
end
complete -c tdm -f -a '(__tdm_complete)'
