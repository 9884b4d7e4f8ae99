# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rankweave_global_optspecs
    string join \n h/help V/version
end

function __fish_rankweave_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rankweave_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rankweave_using_subcommand
    set -l cmd (__fish_rankweave_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rankweave -n "__fish_rankweave_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_needs_command" -s V -l version -d 'Print version'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "run" -d 'Run an MPI launch: record its traffic, and place its ranks by the recorded traffic'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "show" -d 'Show a summary and a heat map of a matrix'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "report" -d 'Write a report of a record as one self-contained HTML file'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "map" -d 'Compute a mapping of tasks to slots, without running anything'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "eval" -d 'Compute all metrics of a mapping'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "verify" -d 'Check the certificate of a lower bound, and how far a mapping is above the bound'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "topo" -d 'Show a topology: its levels and distances'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "list" -d 'List the records in the store, the newest first'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "use" -d 'Choose the record that launches of a program use'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "rm" -d 'Remove records from the store'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "gc" -d 'Remove old records by age, number or size'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "recover" -d 'Recover matrices of programs that were killed or exited early'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "import" -d 'Put a matrix of another tool into the store'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "export" -d 'Write a matrix, or the order of ranks, for another tool'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "check" -d 'Run a program with permuted ranks and compare its results: is reordering safe for it?'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "compare" -d 'Measure whether a program is faster with reordered ranks, by alternating runs'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "doctor" -d 'Say what the library would record and reorder, without running the program'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "env" -d 'List the RANKWEAVE_* variables: value, default, meaning'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c rankweave -n "__fish_rankweave_needs_command" -f -a "man" -d 'Print the manual page'
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l mode -d 'What to do: auto, record, reorder, shuffle or off' -r -f -a "auto\t''
record\t''
reorder\t''
shuffle\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l store -d 'Directory where matrices are kept between launches' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l also-read -d 'Further stores, read only where the own store has nothing' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l key -d 'Name under which the matrix of this program is kept' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l seed -d 'Seed of shuffle and of randomized algorithms' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l topology -d 'Use this topology instead of discovering it' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l slots -d 'With --topology: the slot of each process, in launcher rank order' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l network -d 'Where the network between the nodes may be learned from' -r -f -a "auto\t''
off\t''
site\t''
slurm-address\t''
slurm-files\t''
pbs-nodes\t''
flux-resources\t''
names\t''
fabric-files\t''
measured\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l site -d 'File in which the site describes its clusters' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l measure -d 'Whether to measure the network between the nodes: auto, on or off' -r -f -a "auto\t''
on\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l place -d 'Where ranks are placed: library, launcher, launcher-only or file:PATH' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l fix -d 'Tasks that keep their process, such as 0,8-11; none: all may move' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l objective -d 'What the rank order is to minimise: auto, hop-bytes or time' -r -f -a "auto\t''
hop-bytes\t''
time\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l min-gain -d 'Predicted gain in percent below which the launcher\'s order is kept' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l time-limit -d 'Wall time that the search for a rank order may take' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l searchers -d 'How many processes search for a rank order when the job starts' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l collectives -d 'How collective calls become traffic between pairs: logical or model' -r -f -a "logical\t''
model\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l times -d 'Whether the time in MPI calls is measured: sampled, all or off' -r -f -a "sampled\t''
all\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l spill -d 'Directory of the node for counters that outlive a killed program' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l flush -d 'Interval at which the matrix recorded so far is stored' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l shortest -d 'Shortest launch of a new program that is stored' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l store-bound -d 'Which records are removed once a day, such as older-than=180d,most-bytes=2G' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l flush-signal -d 'Signal on which the matrix recorded so far is stored' -r -f -a "USR1\t''
USR2\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l allow -d 'Programs to which --deny, checks and slower launches are no objection' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l deny -d 'Programs that are never reordered, but recorded' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l skip -d 'Programs that are left alone: neither recorded nor reordered' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l only -d 'The only programs that are recorded and reordered' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l constructors -d 'Whether constructors of topologies may give new ranks (reorder=1)' -r -f -a "auto\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l verbose -d '0: problems only, 1: also a summary line at the end, 2: also decisions' -r -f -a "0\t''
1\t''
2\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l site-order -d 'Write only the file that the launcher in a batch script needs; the same as --place file:FILE' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -s v -d 'The same as --verbose; -vv as --verbose=2'
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l dry-run -d 'Print the command that would be executed, and do nothing'
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -l check-placement -d 'Ask each rank for its host instead of running the program, and compare with --place'
complete -c rankweave -n "__fish_rankweave_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand show" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand show" -l kind -d 'Which kinds of traffic: p2p, collective, onesided or all' -r -f -a "p2p\t'Sends of every form'
collective\t'Collective calls'
onesided\t'Put, get and accumulate calls'
all\t'All of them added up'"
complete -c rankweave -n "__fish_rankweave_using_subcommand show" -l color -d 'When to use colours: auto, always or never' -r -f -a "auto\t'On a terminal that has them, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rankweave -n "__fish_rankweave_using_subcommand show" -l width -d 'Width of the heat map in characters [default: that of the terminal]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand show" -l json -d 'Print the figures as JSON instead'
complete -c rankweave -n "__fish_rankweave_using_subcommand show" -l no-map -d 'Do not draw the heat map'
complete -c rankweave -n "__fish_rankweave_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand report" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand report" -l html -d 'The file to write; - is standard output' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand report" -l kind -d 'Which kinds of traffic: p2p, collective, onesided or all' -r -f -a "p2p\t'Sends of every form'
collective\t'Collective calls'
onesided\t'Put, get and accumulate calls'
all\t'All of them added up'"
complete -c rankweave -n "__fish_rankweave_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -s m -l matrix -d 'The matrix: a record (key or file), or a file of any format that \'import\' reads' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -s t -l topology -d 'The topology, such as tree:2:16:32@1:10:100 or torus:16x16x16' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l slots -d 'The slots that may be used, in the order in which the launcher fills them [default: all]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l kind -d 'Which kinds of traffic: p2p, collective, onesided or all' -r -f -a "p2p\t'Sends of every form'
collective\t'Collective calls'
onesided\t'Put, get and accumulate calls'
all\t'All of them added up'"
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l preset -d 'How much effort to spend: fast, default or strong' -r -f -a "fast\t''
default\t''
strong\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l algorithm -d 'The algorithm; auto runs several and takes the best result, list prints all names' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l objective -d 'What to minimise: hop-bytes, total-hops, sum-com, max-com, mc, mmc, time or auto' -r -f -a "hop-bytes\t''
total-hops\t''
sum-com\t''
max-com\t''
mc\t''
mmc\t''
time\t''
auto\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l fix -d 'Tasks that must be on a certain slot, such as 0=0,3=17' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l oversubscribe -d 'How many tasks share a slot on average, for more tasks than slots' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l weights -d 'The compute load of each task, one number a line; slots get equal loads instead of equal numbers of tasks' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l imbalance -d 'With --weights: how far above the mean the load of a slot may be, in percent' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l previous -d 'The mapping in use; a task leaves its slot only if that saves more than --migration-cost' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l migration-cost -d 'With --previous: the price of moving one task, in units of the objective' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l previous-matrix -d 'With --previous: the matrix that the mapping in use was searched for' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l sparse-factor -d 'Ignore pairs with less than this part of the traffic of the heaviest pair (0 to 1)' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l time-limit -d 'Stop after this time with the best mapping so far: 30, 500ms, 2m [default: no limit]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l threads -d 'Number of threads; without --time-limit, the answer does not depend on it [default: one for each core]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l seed -d 'Seed of randomized algorithms' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -s o -l out -d 'Write the mapping to this file [default: standard output, unless --json]' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l bound -d 'How long to look for a lower bound of the objective: off, quick or best [default: off; with --certificate: quick]' -r -f -a "off\t''
quick\t''
best\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l certificate -d 'Write the bound and its proof to this file, for \'rankweave verify\'' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l progress -d 'Show progress of long work even if standard error is no terminal'
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -l json -d 'Print the summary as JSON to standard output'
complete -c rankweave -n "__fish_rankweave_using_subcommand map" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -s m -l matrix -d 'The matrix: a record (key or file), or a file of any format that \'import\' reads' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -s t -l topology -d 'The topology, such as tree:2:16:32@1:10:100 or torus:16x16x16' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l slots -d 'The slots that may be used, in the order in which the launcher fills them [default: all]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l kind -d 'Which kinds of traffic: p2p, collective, onesided or all' -r -f -a "p2p\t'Sends of every form'
collective\t'Collective calls'
onesided\t'Put, get and accumulate calls'
all\t'All of them added up'"
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l mapping -d 'The mapping: line i (from 0) is the slot of task i' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l objective -d 'Print this metric only: hop-bytes, total-hops, sum-com, max-com, mc, mmc or time' -r -f -a "hop-bytes\t''
total-hops\t''
sum-com\t''
max-com\t''
mc\t''
mmc\t''
time\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l bound -d 'How long to look for a lower bound of the objective: off, quick or best [default: off; with --certificate: quick]' -r -f -a "off\t''
quick\t''
best\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l certificate -d 'Write the bound and its proof to this file, for \'rankweave verify\'' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l noise -d 'Study how much worse mappings become if the matrix is not exact: all, or kinds of noise' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l noise-levels -d 'With --noise: intensities k, as multiples' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l samples -d 'With --noise: noisy matrices for each kind and k' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l algorithm -d 'With --noise: the algorithm that computes the mappings' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l preset -d 'With --noise: how much effort each mapping takes: fast, default or strong' -r -f -a "fast\t''
default\t''
strong\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l seed -d 'With --noise: seed of noise and mappings' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l progress -d 'With --noise: show progress even if standard error is no terminal'
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -l json -d 'Print the metrics as JSON; those of links are null where the topology has no links'
complete -c rankweave -n "__fish_rankweave_using_subcommand eval" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand verify" -s m -l matrix -d 'The matrix: a record (key or file), or a file of any format that \'import\' reads' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand verify" -s t -l topology -d 'The topology, such as tree:2:16:32@1:10:100 or torus:16x16x16' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand verify" -l slots -d 'The slots that may be used, in the order in which the launcher fills them [default: all]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand verify" -l kind -d 'Which kinds of traffic: p2p, collective, onesided or all' -r -f -a "p2p\t'Sends of every form'
collective\t'Collective calls'
onesided\t'Put, get and accumulate calls'
all\t'All of them added up'"
complete -c rankweave -n "__fish_rankweave_using_subcommand verify" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand verify" -l mapping -d 'The mapping: line i (from 0) is the slot of task i' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -s t -l topology -d 'The topology; the end of this help lists the kinds' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l xml -d 'The machine in this file: XML of hwloc or of NCCL and RCCL, or a listing of /sys (gather-machine)' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l timeout -d 'With a launch: time after which the launcher and its processes are ended; the launch of --measure has no limit' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l site -d 'With a launch: the file in which the site describes its clusters; none: no such file [env: RANKWEAVE_SITE]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l network -d 'With a launch: where the network may be learned from, as \'rankweave run --network\' [env: RANKWEAVE_NETWORK]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l json -d 'Print the topology as JSON; with at most 64 slots, also the distances of all pairs'
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l measure -d 'Before that, run the whole launch, really with its program, and measure the network'
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l kept -d 'List the networks that are kept in the store: measured ones, and extracts of large network descriptions'
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -l forget -d 'Remove the networks that are kept in the store'
complete -c rankweave -n "__fish_rankweave_using_subcommand topo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l program -d 'Only records of these programs' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l tasks -d 'Only records with so many tasks: a number, or a range such as 64-512' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l since -d 'Only records that are not older: a date such as 2026-11-25 (UTC), or an age such as 36h, 7d or 8w' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l before -d 'Only records that are older: a date such as 2026-11-25 (UTC), or an age such as 36h, 7d or 8w' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l most -d 'At most so many records, the newest' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l all -d 'Also list the records that are not in use'
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l verify -d 'Read the records to their end, and list only those that cannot be read'
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l json -d 'Print the list as JSON'
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -l csv -d 'Print the list as CSV, one record on each line'
complete -c rankweave -n "__fish_rankweave_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand use" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand use" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand rm" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l older-than -d 'Remove records that are older, such as 36h, 90d or 26w' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l most-records -d 'Keep at most so many records, the newest' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l most-bytes -d 'Keep the newest records that have, with their other records and kept orders, at most so many bytes, such as 500M, 20G or 1T' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l program -d 'Only records of these programs' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l tasks -d 'Only records with so many tasks: a number, or a range such as 64-512' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l since -d 'Only records that are not older: a date such as 2026-11-25 (UTC), or an age such as 36h, 7d or 8w' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l before -d 'Only records that are older: a date such as 2026-11-25 (UTC), or an age such as 36h, 7d or 8w' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l dry-run -d 'Only say what would be removed'
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l json -d 'Print what was removed as JSON'
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -l once-a-day -d 'In the background, and not a second time today: \'rankweave run\' with --store-bound'
complete -c rankweave -n "__fish_rankweave_using_subcommand gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l job -d 'Only the job whose number (hexadecimal) begins with ID' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l list -d 'List the files and records that can be recovered, and change nothing'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l keep -d 'Make records, and do not remove the files'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l running -d 'Also make records of jobs that still run; their files are not removed'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l here -d 'Only jobs that have left files on this node'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l discard -d 'Remove the files of jobs that have ended, without making records'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l force -d 'Replace the record in the store even if it is newer, more complete, or has more or fewer tasks'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -l json -d 'Print what was done as JSON'
complete -c rankweave -n "__fish_rankweave_using_subcommand recover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand import" -l key -d 'Key to keep it under [default: the first file\'s name without its ending]' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand import" -l from -d 'The format of the file, if it cannot be recognised by its content' -r -f -a "json\t'every kind of traffic as [sender, receiver, bytes, messages], for scripts'
mtx\t'MatrixMarket coordinate matrix of bytes for scipy, Julia, Matlab, R'
csv\t'src,dst,bytes,messages for spreadsheets, pandas, R'
prof\t'profiles of Open MPI\'s monitoring (cat mon.*.prof)'
eagermap\t'symmetric CSV with the first task on the last line, for EagerMap'
treematch\t'dense matrix of bytes (.mat) for TreeMatch, TopoMatch'
scotch\t'undirected Scotch source graph (.grf)'
metis\t'undirected METIS graph for KaHIP, VieM, KaMinPar, METIS'"
complete -c rankweave -n "__fish_rankweave_using_subcommand import" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand export" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand export" -l to -d 'The format' -r -f -a "json\t'every kind of traffic as [sender, receiver, bytes, messages], for scripts'
mtx\t'MatrixMarket coordinate matrix of bytes for scipy, Julia, Matlab, R'
csv\t'src,dst,bytes,messages for spreadsheets, pandas, R'
eagermap\t'symmetric CSV with the first task on the last line, for EagerMap'
treematch\t'dense matrix of bytes (.mat) for TreeMatch, TopoMatch'
scotch\t'undirected Scotch source graph (.grf)'
metis\t'undirected METIS graph for KaHIP, VieM, KaMinPar, METIS'
npz\t'NumPy archive: scipy.sparse.load_npz gives the matrix of bytes'
png\t'heat map as PNG picture'
svg\t'heat map as SVG drawing'
rankfile\t'rank file of Open MPI 4: mpirun --rankfile FILE'
prrte\t'rank file of Open MPI 5: mpirun --map-by rankfile:file=FILE'
mpich-rankmap\t'options -hosts and -rankmap of MPICH 5: mpiexec $(cat FILE) -n N'
hydra\t'host file of MPICH and Intel MPI: mpiexec -f FILE'
slurm\t'host file of Slurm: SLURM_HOSTFILE=FILE srun --distribution=arbitrary'
cray\t'MPICH_RANK_ORDER of Cray MPICH: MPICH_RANK_REORDER_METHOD=3'
scotch-map\t'Scotch mapping (.map): the process of each task'
scotch-tgt\t'Scotch target architecture (.tgt) of the recorded launch, if it is regular'"
complete -c rankweave -n "__fish_rankweave_using_subcommand export" -l kind -d 'Which kinds of traffic: p2p, collective, onesided or all' -r -f -a "p2p\t'Sends of every form'
collective\t'Collective calls'
onesided\t'Put, get and accumulate calls'
all\t'All of them added up'"
complete -c rankweave -n "__fish_rankweave_using_subcommand export" -s o -l out -d 'The file to write [default: standard output]' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand export" -l mapping -d 'For rank orders: the process of each task, one a line [default: the best order found]' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand export" -l as-launched -d 'For rank orders: the order that the recorded launch ran in'
complete -c rankweave -n "__fish_rankweave_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l seeds -d 'Seeds of the permutations, one run each: numbers and ranges such as 1-5,17' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l tolerance -d 'How far numbers that are not whole may differ: relative, or relative and absolute' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l ignore -d 'Ignore lines that match this regular expression; may be given several times' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l file -d 'Also compare this file, which the program writes; may be given several times' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l plain -d 'Runs without permuted ranks, at least 2; the last of them is the recorded one' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l timeout -d 'Time after which a run is ended, in seconds, or as 10m' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l fix -d 'Tasks that keep their process, such as 0,8-11; none frees all' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l stdin -d 'Standard input of every run' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l stderr -d 'Compare standard error too'
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l sorted -d 'Compare sorted lines, for a program whose lines come in any order'
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l forget -d 'Do not store the verdict'
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -l json -d 'Print the verdict as JSON'
complete -c rankweave -n "__fish_rankweave_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l runs -d 'Pairs of runs' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l warmup -d 'Runs of each kind before the pairs, which are not compared; at least 1' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l time-limit -d 'Start no pair that would end after this time, in seconds or as 30m' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l timeout -d 'Time after which a single run is ended; this counts as an error' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l figure -d 'Compare this number of the program\'s output instead of the wall time' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l confidence -d 'Probability in percent with which the interval contains the true median' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l stdin -d 'Standard input of every run' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l store -d 'Directory where matrices are kept between launches' -r -F
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l higher-is-better -d 'A larger figure is better'
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l plain -d 'Run the launcher\'s order without the library'
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -l json -d 'Print the result as JSON'
complete -c rankweave -n "__fish_rankweave_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l mode -d 'What to do: auto, record, reorder, shuffle or off' -r -f -a "auto\t''
record\t''
reorder\t''
shuffle\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l store -d 'Directory where matrices are kept between launches' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l also-read -d 'Further stores, read only where the own store has nothing' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l key -d 'Name under which the matrix of this program is kept' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l seed -d 'Seed of shuffle and of randomized algorithms' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l topology -d 'Use this topology instead of discovering it' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l slots -d 'With --topology: the slot of each process, in launcher rank order' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l network -d 'Where the network between the nodes may be learned from' -r -f -a "auto\t''
off\t''
site\t''
slurm-address\t''
slurm-files\t''
pbs-nodes\t''
flux-resources\t''
names\t''
fabric-files\t''
measured\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l site -d 'File in which the site describes its clusters' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l measure -d 'Whether to measure the network between the nodes: auto, on or off' -r -f -a "auto\t''
on\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l place -d 'Where ranks are placed: library, launcher, launcher-only or file:PATH' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l fix -d 'Tasks that keep their process, such as 0,8-11; none: all may move' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l objective -d 'What the rank order is to minimise: auto, hop-bytes or time' -r -f -a "auto\t''
hop-bytes\t''
time\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l min-gain -d 'Predicted gain in percent below which the launcher\'s order is kept' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l time-limit -d 'Wall time that the search for a rank order may take' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l searchers -d 'How many processes search for a rank order when the job starts' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l collectives -d 'How collective calls become traffic between pairs: logical or model' -r -f -a "logical\t''
model\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l times -d 'Whether the time in MPI calls is measured: sampled, all or off' -r -f -a "sampled\t''
all\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l spill -d 'Directory of the node for counters that outlive a killed program' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l flush -d 'Interval at which the matrix recorded so far is stored' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l shortest -d 'Shortest launch of a new program that is stored' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l store-bound -d 'Which records are removed once a day, such as older-than=180d,most-bytes=2G' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l flush-signal -d 'Signal on which the matrix recorded so far is stored' -r -f -a "USR1\t''
USR2\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l allow -d 'Programs to which --deny, checks and slower launches are no objection' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l deny -d 'Programs that are never reordered, but recorded' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l skip -d 'Programs that are left alone: neither recorded nor reordered' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l only -d 'The only programs that are recorded and reordered' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l constructors -d 'Whether constructors of topologies may give new ranks (reorder=1)' -r -f -a "auto\t''
off\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l verbose -d '0: problems only, 1: also a summary line at the end, 2: also decisions' -r -f -a "0\t''
1\t''
2\t''"
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l timeout -d 'With --probe: time after which the launcher and its processes are ended' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -s v -d 'The same as --verbose; -vv as --verbose=2'
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l probe -d 'Start the launcher with \'rankweave\' instead of the program, to examine the nodes'
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l json -d 'Print the diagnosis as JSON'
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -l on-node -d 'Answer a probe: what this process sees'
complete -c rankweave -n "__fish_rankweave_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand env" -l site -d 'The site file, instead of /etc/rankweave.toml and the file of the installation; none: no site file' -r
complete -c rankweave -n "__fish_rankweave_using_subcommand env" -l json -d 'Print the list, or the mistakes, as JSON'
complete -c rankweave -n "__fish_rankweave_using_subcommand env" -l check -d 'Look for mistakes in the settings files, and list all of them'
complete -c rankweave -n "__fish_rankweave_using_subcommand env" -l export -d 'Print the settings that come from files as lines for a shell'
complete -c rankweave -n "__fish_rankweave_using_subcommand env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rankweave -n "__fish_rankweave_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
