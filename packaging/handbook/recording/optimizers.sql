-- thalweg run optimizers.yaml --backend local
-- commit 5cb3b2a738bc-dirty, 2026-11-28, 323 s on 2 cores of Intel(R) Xeon(R) Processor @ 2.50GHz
-- made by tests/end_to_end/record.py optimizers
PRAGMA application_id = 1416132455;
PRAGMA user_version = 13;
BEGIN TRANSACTION;
CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  token TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  backend TEXT NOT NULL,
  handle TEXT NOT NULL,
  folder TEXT NOT NULL,
  launched REAL,
  started REAL,
  ended REAL,
  nodes INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  node_list TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  failed_rank INTEGER,
  failed_node TEXT NOT NULL,
  journal_lines INTEGER NOT NULL,
  clock INTEGER, eligible REAL, size_reason TEXT NOT NULL DEFAULT '',  -- microseconds; the zero of the times in this attempt's metric chunks
  UNIQUE (sweep, trial, attempt),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
);
INSERT INTO "attempt" VALUES(1,1,1,1,'e68cfffa8737176ab4d39063ecf84f7c','finished','local','local:e68cfffa','/recorded/home/runs/1/1/1',1.79587776970185303681e+09,1.79587776974425888066e+09,1795877778.422,1,1,'vm','',0,NULL,'',153,1795877770000000,NULL,'');
INSERT INTO "attempt" VALUES(2,1,2,1,'daaf61a81b57621bacf03e1759386a53','finished','local','local:daaf61a8','/recorded/home/runs/1/2/1',1.79587776970784401896e+09,1.79587776975182199473e+09,1795877774.488,1,1,'vm','',0,NULL,'',153,1795877770000000,NULL,'');
INSERT INTO "attempt" VALUES(3,1,3,1,'da28b8246b74697cf67f3b97bd3c06f5','finished','local','local:da28b824','/recorded/home/runs/1/3/1',1.79587777469199562068e+09,1.79587777471352124216e+09,1795877784.543,1,1,'vm','',0,NULL,'',153,1795877776000000,NULL,'');
INSERT INTO "attempt" VALUES(4,1,4,1,'12e0ded8ef88ba3e4d991077e82e2705','finished','local','local:12e0ded8','/recorded/home/runs/1/4/1',1.79587777850209903717e+09,1.79587777855182242391e+09,1795877789.414,1,1,'vm','',0,NULL,'',153,1795877780000000,NULL,'');
INSERT INTO "attempt" VALUES(5,1,5,1,'03984ce0857cb05b145c8f1260fe644f','finished','local','local:03984ce0','/recorded/home/runs/1/5/1',1.79587778464889955519e+09,1.79587778467859792708e+09,1795877792.464,1,1,'vm','',0,NULL,'',153,1795877786000000,NULL,'');
INSERT INTO "attempt" VALUES(6,1,6,1,'e3dc2f228c3a6974343a5c7027002f43','finished','local','local:e3dc2f22','/recorded/home/runs/1/6/1',1.79587778945459628108e+09,1.79587778949982285496e+09,1795877800.722,1,1,'vm','',0,NULL,'',153,1795877790000000,NULL,'');
INSERT INTO "attempt" VALUES(7,1,7,1,'5c1289d367d4abe784b10f7070529563','finished','local','local:5c1289d3','/recorded/home/runs/1/7/1',1.79587779253634142878e+09,1.79587779257092690463e+09,1795877797.724,1,1,'vm','',0,NULL,'',153,1795877794000000,NULL,'');
INSERT INTO "attempt" VALUES(8,1,8,1,'8264434b2e6a37b8846e3a1c24d90744','finished','local','local:8264434b','/recorded/home/runs/1/8/1',1.79587779789083361627e+09,1.7958777980635051727e+09,1795877805.895,1,1,'vm','',0,NULL,'',153,1795877799000000,NULL,'');
INSERT INTO "attempt" VALUES(9,1,9,1,'5c6fae927d9ecf74a8dc9711f348e00f','finished','local','local:5c6fae92','/recorded/home/runs/1/9/1',1.79587780077672553059e+09,1.79587780079182314876e+09,1795877808.823,1,1,'vm','',0,NULL,'',153,1795877802000000,NULL,'');
INSERT INTO "attempt" VALUES(10,1,10,1,'70235238373da601e04d33f6157ee4d6','finished','local','local:70235238','/recorded/home/runs/1/10/1',1.79587780616278791427e+09,1.79587780620730137824e+09,1795877817.112,1,1,'vm','',0,NULL,'',153,1795877807000000,NULL,'');
INSERT INTO "attempt" VALUES(11,1,11,1,'b9b7c14e9e2841b37965c7f0d24c5611','finished','local','local:b9b7c14e','/recorded/home/runs/1/11/1',1.7958778089838073254e+09,1.79587780901982355117e+09,1795877813.913,1,1,'vm','',0,NULL,'',153,1795877810000000,NULL,'');
INSERT INTO "attempt" VALUES(12,1,12,1,'aaa1c3b30c9b4916aea694eb82bed0c8','finished','local','local:aaa1c3b3','/recorded/home/runs/1/12/1',1.7958778140801022053e+09,1.79587781409982371327e+09,1795877823.951,1,1,'vm','',0,NULL,'',153,1795877815000000,NULL,'');
INSERT INTO "attempt" VALUES(13,1,13,1,'cc7c16c544792e16a825985035d735b7','finished','local','local:cc7c16c5','/recorded/home/runs/1/13/1',1.7958778173995594978e+09,1.79587781743182373049e+09,1795877826.386,1,1,'vm','',0,NULL,'',153,1795877819000000,NULL,'');
INSERT INTO "attempt" VALUES(14,1,14,1,'6d1782cbf8694c44828a3bec1a3594f6','finished','local','local:6d1782cb','/recorded/home/runs/1/14/1',1.79587782400652551653e+09,1.79587782403182387351e+09,1795877834.991,1,1,'vm','',0,NULL,'',153,1795877825000000,NULL,'');
INSERT INTO "attempt" VALUES(15,1,15,1,'2243fc36f301dc6314e590abe7a8c1c5','finished','local','local:2243fc36','/recorded/home/runs/1/15/1',1.79587782657878136638e+09,1.79587782660591697685e+09,1795877837.287,1,1,'vm','',0,NULL,'',153,1795877828000000,NULL,'');
INSERT INTO "attempt" VALUES(16,1,16,1,'5119a0cc9e7d0a4cd4f97b2d6017b991','finished','local','local:5119a0cc','/recorded/home/runs/1/16/1',1.79587783521996140483e+09,1.79587783523240542417e+09,1795877841.094,1,1,'vm','',0,NULL,'',153,1795877837000000,NULL,'');
INSERT INTO "attempt" VALUES(17,1,17,1,'a2dfde1d998dd0569ebee2c57114518c','finished','local','local:a2dfde1d','/recorded/home/runs/1/17/1',1.79587783752313661571e+09,1.7958778375358245373e+09,1795877843.595,1,1,'vm','',0,NULL,'',153,1795877839000000,NULL,'');
INSERT INTO "attempt" VALUES(18,1,18,1,'055a2eb660e2cdcd62cdebb887ae6b3d','finished','local','local:055a2eb6','/recorded/home/runs/1/18/1',1.79587784137056159978e+09,1.79587784143385791775e+09,1795877848.812,1,1,'vm','',0,NULL,'',153,1795877843000000,NULL,'');
INSERT INTO "attempt" VALUES(19,1,19,1,'de899c5be66080fc04a5fa060614011b','finished','local','local:de899c5b','/recorded/home/runs/1/19/1',1.79587784369434595105e+09,1.79587784369982457165e+09,1795877854.21,1,1,'vm','',0,NULL,'',153,1795877845000000,NULL,'');
INSERT INTO "attempt" VALUES(20,1,20,1,'94a36027d696d1a5622fc48d2682dec3','finished','local','local:94a36027','/recorded/home/runs/1/20/1',1.79587784909080243108e+09,1.79587784916382479667e+09,1795877859.3,1,1,'vm','',0,NULL,'',153,1795877850000000,NULL,'');
INSERT INTO "attempt" VALUES(21,1,21,1,'b77911502ae3c9ef7087d622c56ca3c1','finished','local','local:b7791150','/recorded/home/runs/1/21/1',1.79587785424923658365e+09,1.79587785428782510752e+09,1795877865.246,1,1,'vm','',0,NULL,'',153,1795877856000000,NULL,'');
INSERT INTO "attempt" VALUES(22,1,22,1,'eb25c8624eecd35b68ff354a75efcef6','finished','local','local:eb25c862','/recorded/home/runs/1/22/1',1.79587785935387182238e+09,1.79587785937582516664e+09,1795877864.463,1,1,'vm','',0,NULL,'',153,1795877860000000,NULL,'');
INSERT INTO "attempt" VALUES(23,1,23,1,'bc28d688ef11e6411a2ef25e39420c41','finished','local','local:bc28d688','/recorded/home/runs/1/23/1',1.79587786451674151421e+09,1.79587786453182530403e+09,1795877874.81,1,1,'vm','',0,NULL,'',153,1795877866000000,NULL,'');
INSERT INTO "attempt" VALUES(24,1,24,1,'d19a09b574fc5842c5b539ab05a7e735','finished','local','local:d19a09b5','/recorded/home/runs/1/24/1',1.79587786530826377861e+09,1.79587786532782530779e+09,1795877874.464,1,1,'vm','',0,NULL,'',153,1795877867000000,NULL,'');
INSERT INTO "attempt" VALUES(25,1,25,1,'4c02b495f18b20ac767cf6692b5226fb','finished','local','local:4c02b495','/recorded/home/runs/1/25/1',1.79587787465702271457e+09,1.79587787471582579611e+09,1795877954.651,1,1,'vm','',0,NULL,'',153,1795877876000000,NULL,'');
INSERT INTO "attempt" VALUES(26,1,26,1,'96cbcf0ffd12aa13403d909b325f5f9e','finished','local','local:96cbcf0f','/recorded/home/runs/1/26/1',1.79587787497739291195e+09,1.79587787498382568359e+09,1795877936.623,1,1,'vm','',0,NULL,'',153,1795877877000000,NULL,'');
INSERT INTO "attempt" VALUES(27,1,27,1,'f4d68ddf27e26b48591b4d24fec983fb','finished','local','local:f4d68ddf','/recorded/home/runs/1/27/1',1.79587793687103724482e+09,1.79587793689982795717e+09,1795878012.759,1,1,'vm','',0,NULL,'',153,1795877939000000,NULL,'');
INSERT INTO "attempt" VALUES(28,1,28,1,'7e9b26f5a71457ecbc0aeadcaec67b2b','finished','local','local:7e9b26f5','/recorded/home/runs/1/28/1',1.79587795475910711288e+09,1.79587795478782844549e+09,1795878042.686,1,1,'vm','',0,NULL,'',153,1795877957000000,NULL,'');
INSERT INTO "attempt" VALUES(29,1,29,1,'7365330d4f539bb416bb58f857c7f59b','finished','local','local:7365330d','/recorded/home/runs/1/29/1',1.79587801285636091234e+09,1.79587801289319634436e+09,1795878060.359,1,1,'vm','',0,NULL,'',153,1795878015000000,NULL,'');
INSERT INTO "attempt" VALUES(30,1,30,1,'5c000fabd61bae84ac1390d8f33bc464','finished','local','local:5c000fab','/recorded/home/runs/1/30/1',1.79587804287501263617e+09,1.79587804291583156583e+09,1795878092.411,1,1,'vm','',0,NULL,'',153,1795878044000000,NULL,'');
CREATE TABLE attempt_start (
  attempt INTEGER PRIMARY KEY REFERENCES attempt (id) ON DELETE CASCADE,
  record TEXT NOT NULL
, ranks TEXT);
CREATE TABLE event (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  data TEXT NOT NULL
);
INSERT INTO "event" VALUES(1,1.79587776968968606001e+09,'submitted',1,0,0,'{"backend":"local","directory":"/recorded","keep":{"checkpoints":"all","points":0,"trials":0},"limits":{"max_nodes_in_flight":64,"max_retries":2,"node_hours":0.0},"metric":{"goal":"minimize","name":"val/error","target":0.14},"shapes":[{"count":30,"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}],"slurm":{}}');
INSERT INTO "event" VALUES(2,1.79587776970185303681e+09,'launching',1,1,1,'{"backend":"local","folder":"/recorded/home/runs/1/1/1","nodes":1,"push_secret":"left out 2","ranks":1,"token":"e68cfffa8737176ab4d39063ecf84f7c"}');
INSERT INTO "event" VALUES(3,1.79587776970784401896e+09,'launching',1,2,1,'{"backend":"local","folder":"/recorded/home/runs/1/2/1","nodes":1,"push_secret":"left out 3","ranks":1,"token":"daaf61a81b57621bacf03e1759386a53"}');
INSERT INTO "event" VALUES(4,1.79587776971936631206e+09,'recorded',1,1,1,'{"handle":"local:e68cfffa"}');
INSERT INTO "event" VALUES(5,1.79587776972281813617e+09,'recorded',1,2,1,'{"handle":"local:daaf61a8"}');
INSERT INTO "event" VALUES(6,1.79587776974062013628e+09,'released',1,1,1,'{}');
INSERT INTO "event" VALUES(7,1.79587776975314950943e+09,'released',1,2,1,'{}');
INSERT INTO "event" VALUES(8,1.79587777001884388921e+09,'running',1,1,1,'{"node_list":"vm","started":1795877769.7442589}');
INSERT INTO "event" VALUES(9,1.79587777001926660533e+09,'running',1,2,1,'{"node_list":"vm","started":1795877769.751822}');
INSERT INTO "event" VALUES(10,1.79587777070304369922e+09,'note',1,1,1,'{"level":"info","text":"optimizer.lr: auto is 0.1 for sgd (a common start for plain SGD at batch 128)"}');
INSERT INTO "event" VALUES(11,1.79587777059706902508e+09,'note',1,2,1,'{"level":"info","text":"optimizer.lr: auto is 0.1 for sgd (a common start for plain SGD at batch 128)"}');
INSERT INTO "event" VALUES(12,1.79587777467978310583e+09,'ended',1,2,1,'{"cause":"finished","ended":1795877774.488,"exit_code":0,"node_list":"vm","node_seconds":4.736177921295166,"reason":"","step":2577}');
INSERT INTO "event" VALUES(13,1.79587777468288826944e+09,'trial_ended',1,2,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(14,1.79587777469199562068e+09,'launching',1,3,1,'{"backend":"local","folder":"/recorded/home/runs/1/3/1","nodes":1,"push_secret":"left out 14","ranks":1,"token":"da28b8246b74697cf67f3b97bd3c06f5"}');
INSERT INTO "event" VALUES(15,1.79587777470295739167e+09,'recorded',1,3,1,'{"handle":"local:da28b824"}');
INSERT INTO "event" VALUES(16,1.79587777471060419079e+09,'released',1,3,1,'{}');
INSERT INTO "event" VALUES(17,1.79587777496244955059e+09,'running',1,3,1,'{"node_list":"vm","started":1795877774.7135212}');
INSERT INTO "event" VALUES(18,1.79587777621425795553e+09,'note',1,3,1,'{"level":"info","text":"optimizer.lr: auto is 0.1 for sgd (a common start for plain SGD at batch 128)"}');
INSERT INTO "event" VALUES(19,1.79587777848693299297e+09,'ended',1,1,1,'{"cause":"finished","ended":1795877778.422,"exit_code":0,"node_list":"vm","node_seconds":8.677741050720215,"reason":"","step":2577}');
INSERT INTO "event" VALUES(20,1.7958777784943575859e+09,'trial_ended',1,1,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(21,1.79587777850209903717e+09,'launching',1,4,1,'{"backend":"local","folder":"/recorded/home/runs/1/4/1","nodes":1,"push_secret":"left out 21","ranks":1,"token":"12e0ded8ef88ba3e4d991077e82e2705"}');
INSERT INTO "event" VALUES(22,1.79587777852702546116e+09,'recorded',1,4,1,'{"handle":"local:12e0ded8"}');
INSERT INTO "event" VALUES(23,1.79587777854297757145e+09,'released',1,4,1,'{}');
INSERT INTO "event" VALUES(24,1.79587777880144762996e+09,'running',1,4,1,'{"node_list":"vm","started":1795877778.5518224}');
INSERT INTO "event" VALUES(25,1.79587778001079750064e+09,'note',1,4,1,'{"level":"info","text":"optimizer.lr: auto is 0.1 for sgd (a common start for plain SGD at batch 128)"}');
INSERT INTO "event" VALUES(26,1.79587778464495944979e+09,'ended',1,3,1,'{"cause":"finished","ended":1795877784.543,"exit_code":0,"node_list":"vm","node_seconds":9.829478740692139,"reason":"","step":2577}');
INSERT INTO "event" VALUES(27,1.79587778464592385295e+09,'trial_ended',1,3,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(28,1.79587778464889955519e+09,'launching',1,5,1,'{"backend":"local","folder":"/recorded/home/runs/1/5/1","nodes":1,"push_secret":"left out 28","ranks":1,"token":"03984ce0857cb05b145c8f1260fe644f"}');
INSERT INTO "event" VALUES(29,1.79587778465168881412e+09,'recorded',1,5,1,'{"handle":"local:03984ce0"}');
INSERT INTO "event" VALUES(30,1.79587778467111968986e+09,'released',1,5,1,'{}');
INSERT INTO "event" VALUES(31,1.79587778492445898051e+09,'running',1,5,1,'{"node_list":"vm","started":1795877784.678598}');
INSERT INTO "event" VALUES(32,1.79587778598104286197e+09,'note',1,5,1,'{"level":"info","text":"optimizer.lr: auto is 0.1 for sgd (a common start for plain SGD at batch 128)"}');
INSERT INTO "event" VALUES(33,1.7958777894403553009e+09,'ended',1,4,1,'{"cause":"finished","ended":1795877789.414,"exit_code":0,"node_list":"vm","node_seconds":10.862177610397339,"reason":"","step":2577}');
INSERT INTO "event" VALUES(34,1.79587778944184899322e+09,'trial_ended',1,4,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(35,1.79587778945459628108e+09,'launching',1,6,1,'{"backend":"local","folder":"/recorded/home/runs/1/6/1","nodes":1,"push_secret":"left out 35","ranks":1,"token":"e3dc2f228c3a6974343a5c7027002f43"}');
INSERT INTO "event" VALUES(36,1.79587778946716904639e+09,'recorded',1,6,1,'{"handle":"local:e3dc2f22"}');
INSERT INTO "event" VALUES(37,1.79587778948128080373e+09,'released',1,6,1,'{}');
INSERT INTO "event" VALUES(38,1.79587778974567532537e+09,'running',1,6,1,'{"node_list":"vm","started":1795877789.4998229}');
INSERT INTO "event" VALUES(39,1.79587779078723478324e+09,'note',1,6,1,'{"level":"info","text":"optimizer.lr: auto is 0.1 for sgd (a common start for plain SGD at batch 128)"}');
INSERT INTO "event" VALUES(40,1.79587779252733874321e+09,'ended',1,5,1,'{"cause":"finished","ended":1795877792.464,"exit_code":0,"node_list":"vm","node_seconds":7.785402059555054,"reason":"","step":2577}');
INSERT INTO "event" VALUES(41,1.79587779253193092349e+09,'trial_ended',1,5,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(42,1.79587779253634142878e+09,'launching',1,7,1,'{"backend":"local","folder":"/recorded/home/runs/1/7/1","nodes":1,"push_secret":"left out 42","ranks":1,"token":"5c1289d367d4abe784b10f7070529563"}');
INSERT INTO "event" VALUES(43,1.7958777925538036823e+09,'recorded',1,7,1,'{"handle":"local:5c1289d3"}');
INSERT INTO "event" VALUES(44,1.795877792565514803e+09,'released',1,7,1,'{}');
INSERT INTO "event" VALUES(45,1.79587779281747269635e+09,'running',1,7,1,'{"node_list":"vm","started":1795877792.570927}');
INSERT INTO "event" VALUES(46,1.7958777942537620068e+09,'note',1,7,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for momentum (good for batch 128 on Fashion-MNIST, constant or cosine)"}');
INSERT INTO "event" VALUES(47,1.79587779787532591819e+09,'ended',1,7,1,'{"cause":"finished","ended":1795877797.724,"exit_code":0,"node_list":"vm","node_seconds":5.153073072433472,"reason":"","step":2577}');
INSERT INTO "event" VALUES(48,1.79587779787923502916e+09,'trial_ended',1,7,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(49,1.79587779789083361627e+09,'launching',1,8,1,'{"backend":"local","folder":"/recorded/home/runs/1/8/1","nodes":1,"push_secret":"left out 49","ranks":1,"token":"8264434b2e6a37b8846e3a1c24d90744"}');
INSERT INTO "event" VALUES(50,1.79587779796763539314e+09,'recorded',1,8,1,'{"handle":"local:8264434b"}');
INSERT INTO "event" VALUES(51,1.79587779798538923264e+09,'released',1,8,1,'{}');
INSERT INTO "event" VALUES(52,1.79587779824522972109e+09,'running',1,8,1,'{"node_list":"vm","started":1795877798.0635052}');
INSERT INTO "event" VALUES(53,1.7958777995656967163e+09,'note',1,8,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for momentum (good for batch 128 on Fashion-MNIST, constant or cosine)"}');
INSERT INTO "event" VALUES(54,1.79587780076851892476e+09,'ended',1,6,1,'{"cause":"finished","ended":1795877800.722,"exit_code":0,"node_list":"vm","node_seconds":11.222177028656006,"reason":"","step":2577}');
INSERT INTO "event" VALUES(55,1.79587780077319717408e+09,'trial_ended',1,6,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(56,1.79587780077672553059e+09,'launching',1,9,1,'{"backend":"local","folder":"/recorded/home/runs/1/9/1","nodes":1,"push_secret":"left out 56","ranks":1,"token":"5c6fae927d9ecf74a8dc9711f348e00f"}');
INSERT INTO "event" VALUES(57,1.79587780078310346601e+09,'recorded',1,9,1,'{"handle":"local:5c6fae92"}');
INSERT INTO "event" VALUES(58,1.79587780079863595962e+09,'released',1,9,1,'{}');
INSERT INTO "event" VALUES(59,1.79587780105097174643e+09,'running',1,9,1,'{"node_list":"vm","started":1795877800.7918231}');
INSERT INTO "event" VALUES(60,1.79587780264532756802e+09,'note',1,9,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for momentum (good for batch 128 on Fashion-MNIST, constant or cosine)"}');
INSERT INTO "event" VALUES(61,1.7958778061490426063e+09,'ended',1,8,1,'{"cause":"finished","ended":1795877805.895,"exit_code":0,"node_list":"vm","node_seconds":7.8314948081970215,"reason":"","step":2577}');
INSERT INTO "event" VALUES(62,1.79587780615255880349e+09,'trial_ended',1,8,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(63,1.79587780616278791427e+09,'launching',1,10,1,'{"backend":"local","folder":"/recorded/home/runs/1/10/1","nodes":1,"push_secret":"left out 63","ranks":1,"token":"70235238373da601e04d33f6157ee4d6"}');
INSERT INTO "event" VALUES(64,1.79587780617088913913e+09,'recorded',1,10,1,'{"handle":"local:70235238"}');
INSERT INTO "event" VALUES(65,1.79587780618665575978e+09,'released',1,10,1,'{}');
INSERT INTO "event" VALUES(66,1.79587780644929027561e+09,'running',1,10,1,'{"node_list":"vm","started":1795877806.2073014}');
INSERT INTO "event" VALUES(67,1.79587780769113206863e+09,'note',1,10,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for momentum (good for batch 128 on Fashion-MNIST, constant or cosine)"}');
INSERT INTO "event" VALUES(68,1.79587780897979354855e+09,'ended',1,9,1,'{"cause":"finished","ended":1795877808.823,"exit_code":0,"node_list":"vm","node_seconds":8.031176805496216,"reason":"","step":2577}');
INSERT INTO "event" VALUES(69,1.79587780898108339308e+09,'trial_ended',1,9,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(70,1.7958778089838073254e+09,'launching',1,11,1,'{"backend":"local","folder":"/recorded/home/runs/1/11/1","nodes":1,"push_secret":"left out 70","ranks":1,"token":"b9b7c14e9e2841b37965c7f0d24c5611"}');
INSERT INTO "event" VALUES(71,1.79587780900867772107e+09,'recorded',1,11,1,'{"handle":"local:b9b7c14e"}');
INSERT INTO "event" VALUES(72,1.79587780901651287079e+09,'released',1,11,1,'{}');
INSERT INTO "event" VALUES(73,1.79587780927699661257e+09,'running',1,11,1,'{"node_list":"vm","started":1795877809.0198236}');
INSERT INTO "event" VALUES(74,1.79587781002056908604e+09,'note',1,11,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for momentum (good for batch 128 on Fashion-MNIST, constant or cosine)"}');
INSERT INTO "event" VALUES(75,1.79587781407437276841e+09,'ended',1,11,1,'{"cause":"finished","ended":1795877813.913,"exit_code":0,"node_list":"vm","node_seconds":4.893176555633545,"reason":"","step":2577}');
INSERT INTO "event" VALUES(76,1.79587781407506108283e+09,'trial_ended',1,11,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(77,1.7958778140801022053e+09,'launching',1,12,1,'{"backend":"local","folder":"/recorded/home/runs/1/12/1","nodes":1,"push_secret":"left out 77","ranks":1,"token":"aaa1c3b30c9b4916aea694eb82bed0c8"}');
INSERT INTO "event" VALUES(78,1.7958778140893409252e+09,'recorded',1,12,1,'{"handle":"local:aaa1c3b3"}');
INSERT INTO "event" VALUES(79,1.79587781409825134274e+09,'released',1,12,1,'{}');
INSERT INTO "event" VALUES(80,1.7958778143531954289e+09,'running',1,12,1,'{"node_list":"vm","started":1795877814.0998237}');
INSERT INTO "event" VALUES(81,1.79587781574122691153e+09,'note',1,12,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for momentum (good for batch 128 on Fashion-MNIST, constant or cosine)"}');
INSERT INTO "event" VALUES(82,1.79587781738551926615e+09,'ended',1,10,1,'{"cause":"finished","ended":1795877817.112,"exit_code":0,"node_list":"vm","node_seconds":10.904698610305786,"reason":"","step":2577}');
INSERT INTO "event" VALUES(83,1.79587781739658522602e+09,'trial_ended',1,10,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(84,1.7958778173995594978e+09,'launching',1,13,1,'{"backend":"local","folder":"/recorded/home/runs/1/13/1","nodes":1,"push_secret":"left out 84","ranks":1,"token":"cc7c16c544792e16a825985035d735b7"}');
INSERT INTO "event" VALUES(85,1.79587781742381095888e+09,'recorded',1,13,1,'{"handle":"local:cc7c16c5"}');
INSERT INTO "event" VALUES(86,1.79587781743094444279e+09,'released',1,13,1,'{}');
INSERT INTO "event" VALUES(87,1.79587781769253706934e+09,'running',1,13,1,'{"node_list":"vm","started":1795877817.4318237}');
INSERT INTO "event" VALUES(88,1.79587781899759531016e+09,'note',1,13,1,'{"level":"info","text":"optimizer.lr: auto is 0.001 for adamw (the paper''s default)"}');
INSERT INTO "event" VALUES(89,1.79587782400252103805e+09,'ended',1,12,1,'{"cause":"finished","ended":1795877823.951,"exit_code":0,"node_list":"vm","node_seconds":9.851176261901855,"reason":"","step":2577}');
INSERT INTO "event" VALUES(90,1.79587782400315928458e+09,'trial_ended',1,12,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(91,1.79587782400652551653e+09,'launching',1,14,1,'{"backend":"local","folder":"/recorded/home/runs/1/14/1","nodes":1,"push_secret":"left out 91","ranks":1,"token":"6d1782cbf8694c44828a3bec1a3594f6"}');
INSERT INTO "event" VALUES(92,1.79587782402472567562e+09,'recorded',1,14,1,'{"handle":"local:6d1782cb"}');
INSERT INTO "event" VALUES(93,1.79587782403922653195e+09,'released',1,14,1,'{}');
INSERT INTO "event" VALUES(94,1.7958778242980024814e+09,'running',1,14,1,'{"node_list":"vm","started":1795877824.0318239}');
INSERT INTO "event" VALUES(95,1.79587782551479387279e+09,'note',1,14,1,'{"level":"info","text":"optimizer.lr: auto is 0.001 for adamw (the paper''s default)"}');
INSERT INTO "event" VALUES(96,1.79587782656677174566e+09,'ended',1,13,1,'{"cause":"finished","ended":1795877826.386,"exit_code":0,"node_list":"vm","node_seconds":8.954176187515259,"reason":"","step":2577}');
INSERT INTO "event" VALUES(97,1.79587782656820106512e+09,'trial_ended',1,13,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(98,1.79587782657878136638e+09,'launching',1,15,1,'{"backend":"local","folder":"/recorded/home/runs/1/15/1","nodes":1,"push_secret":"left out 98","ranks":1,"token":"2243fc36f301dc6314e590abe7a8c1c5"}');
INSERT INTO "event" VALUES(99,1.79587782659490084648e+09,'recorded',1,15,1,'{"handle":"local:2243fc36"}');
INSERT INTO "event" VALUES(100,1.79587782660043644906e+09,'released',1,15,1,'{}');
INSERT INTO "event" VALUES(101,1.79587782685211443901e+09,'running',1,15,1,'{"node_list":"vm","started":1795877826.605917}');
INSERT INTO "event" VALUES(102,1.795877827827593565e+09,'note',1,15,1,'{"level":"info","text":"optimizer.lr: auto is 0.001 for adamw (the paper''s default)"}');
INSERT INTO "event" VALUES(103,1.79587783521893787387e+09,'ended',1,14,1,'{"cause":"finished","ended":1795877834.991,"exit_code":0,"node_list":"vm","node_seconds":10.959176063537598,"reason":"","step":2577}');
INSERT INTO "event" VALUES(104,1.79587783521941757205e+09,'trial_ended',1,14,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(105,1.79587783521996140483e+09,'launching',1,16,1,'{"backend":"local","folder":"/recorded/home/runs/1/16/1","nodes":1,"push_secret":"left out 105","ranks":1,"token":"5119a0cc9e7d0a4cd4f97b2d6017b991"}');
INSERT INTO "event" VALUES(106,1.79587783522130203239e+09,'recorded',1,16,1,'{"handle":"local:5119a0cc"}');
INSERT INTO "event" VALUES(107,1.79587783523343396188e+09,'released',1,16,1,'{}');
INSERT INTO "event" VALUES(108,1.7958778354974520206e+09,'running',1,16,1,'{"node_list":"vm","started":1795877835.2324054}');
INSERT INTO "event" VALUES(109,1.79587783723078036309e+09,'note',1,16,1,'{"level":"info","text":"optimizer.lr: auto is 0.001 for adamw (the paper''s default)"}');
INSERT INTO "event" VALUES(110,1.79587783751596546171e+09,'ended',1,15,1,'{"cause":"finished","ended":1795877837.287,"exit_code":0,"node_list":"vm","node_seconds":10.681082963943481,"reason":"","step":2577}');
INSERT INTO "event" VALUES(111,1.79587783751896595957e+09,'trial_ended',1,15,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(112,1.79587783752313661571e+09,'launching',1,17,1,'{"backend":"local","folder":"/recorded/home/runs/1/17/1","nodes":1,"push_secret":"left out 112","ranks":1,"token":"a2dfde1d998dd0569ebee2c57114518c"}');
INSERT INTO "event" VALUES(113,1795877837.52732,'recorded',1,17,1,'{"handle":"local:a2dfde1d"}');
INSERT INTO "event" VALUES(114,1.79587783752833867077e+09,'released',1,17,1,'{}');
INSERT INTO "event" VALUES(115,1.79587783779054045675e+09,'running',1,17,1,'{"node_list":"vm","started":1795877837.5358245}');
INSERT INTO "event" VALUES(116,1.79587783919477486605e+09,'note',1,17,1,'{"level":"info","text":"optimizer.lr: auto is 0.001 for adamw (the paper''s default)"}');
INSERT INTO "event" VALUES(117,1.79587784135102605819e+09,'ended',1,16,1,'{"cause":"finished","ended":1795877841.094,"exit_code":0,"node_list":"vm","node_seconds":5.8615946769714355,"reason":"","step":2577}');
INSERT INTO "event" VALUES(118,1.79587784136292409904e+09,'trial_ended',1,16,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(119,1.79587784137056159978e+09,'launching',1,18,1,'{"backend":"local","folder":"/recorded/home/runs/1/18/1","nodes":1,"push_secret":"left out 119","ranks":1,"token":"055a2eb660e2cdcd62cdebb887ae6b3d"}');
INSERT INTO "event" VALUES(120,1.79587784139895653722e+09,'recorded',1,18,1,'{"handle":"local:055a2eb6"}');
INSERT INTO "event" VALUES(121,1.79587784141725826259e+09,'released',1,18,1,'{}');
INSERT INTO "event" VALUES(122,1.79587784167721247665e+09,'running',1,18,1,'{"node_list":"vm","started":1795877841.433858}');
INSERT INTO "event" VALUES(123,1.7958778436932761669e+09,'ended',1,17,1,'{"cause":"finished","ended":1795877843.595,"exit_code":0,"node_list":"vm","node_seconds":6.059175491333008,"reason":"","step":2577}');
INSERT INTO "event" VALUES(124,1.79587784369390273094e+09,'trial_ended',1,17,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(125,1.79587784369434595105e+09,'launching',1,19,1,'{"backend":"local","folder":"/recorded/home/runs/1/19/1","nodes":1,"push_secret":"left out 125","ranks":1,"token":"de899c5be66080fc04a5fa060614011b"}');
INSERT INTO "event" VALUES(126,1.79587784369587278362e+09,'recorded',1,19,1,'{"handle":"local:de899c5b"}');
INSERT INTO "event" VALUES(127,1.79587784369885802276e+09,'released',1,19,1,'{}');
INSERT INTO "event" VALUES(128,1.79587784395911741249e+09,'running',1,19,1,'{"node_list":"vm","started":1795877843.6998246}');
INSERT INTO "event" VALUES(129,1.79587784385220122339e+09,'note',1,18,1,'{"level":"info","text":"optimizer.lr: auto is 0.001 for adamw (the paper''s default)"}');
INSERT INTO "event" VALUES(130,1.79587784502934956552e+09,'note',1,19,1,'{"level":"info","text":"optimizer.lr: auto is 0.01 for lamb (good for batch 128 on Fashion-MNIST with a cosine; apex''s default is 0.001)"}');
INSERT INTO "event" VALUES(131,1.79587784907098865511e+09,'ended',1,18,1,'{"cause":"finished","ended":1795877848.812,"exit_code":0,"node_list":"vm","node_seconds":7.3781421184539795,"reason":"","step":2577}');
INSERT INTO "event" VALUES(132,1.79587784907684087755e+09,'trial_ended',1,18,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(133,1.79587784909080243108e+09,'launching',1,20,1,'{"backend":"local","folder":"/recorded/home/runs/1/20/1","nodes":1,"push_secret":"left out 133","ranks":1,"token":"94a36027d696d1a5622fc48d2682dec3"}');
INSERT INTO "event" VALUES(134,1.79587784913491916661e+09,'recorded',1,20,1,'{"handle":"local:94a36027"}');
INSERT INTO "event" VALUES(135,1.79587784915665578844e+09,'released',1,20,1,'{}');
INSERT INTO "event" VALUES(136,1.79587784941108632085e+09,'running',1,20,1,'{"node_list":"vm","started":1795877849.1638248}');
INSERT INTO "event" VALUES(137,1.79587785046279549599e+09,'note',1,20,1,'{"level":"info","text":"optimizer.lr: auto is 0.01 for lamb (good for batch 128 on Fashion-MNIST with a cosine; apex''s default is 0.001)"}');
INSERT INTO "event" VALUES(138,1.79587785423913860326e+09,'ended',1,19,1,'{"cause":"finished","ended":1795877854.21,"exit_code":0,"node_list":"vm","node_seconds":10.510175466537476,"reason":"","step":2577}');
INSERT INTO "event" VALUES(139,1.79587785424299502378e+09,'trial_ended',1,19,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(140,1.79587785424923658365e+09,'launching',1,21,1,'{"backend":"local","folder":"/recorded/home/runs/1/21/1","nodes":1,"push_secret":"left out 140","ranks":1,"token":"b77911502ae3c9ef7087d622c56ca3c1"}');
INSERT INTO "event" VALUES(141,1.79587785428324961658e+09,'recorded',1,21,1,'{"handle":"local:b7791150"}');
INSERT INTO "event" VALUES(142,1.79587785428494215011e+09,'released',1,21,1,'{}');
INSERT INTO "event" VALUES(143,1.79587785453568029398e+09,'running',1,21,1,'{"node_list":"vm","started":1795877854.287825}');
INSERT INTO "event" VALUES(144,1.79587785614014935498e+09,'note',1,21,1,'{"level":"info","text":"optimizer.lr: auto is 0.01 for lamb (good for batch 128 on Fashion-MNIST with a cosine; apex''s default is 0.001)"}');
INSERT INTO "event" VALUES(145,1.79587785934337425229e+09,'ended',1,20,1,'{"cause":"finished","ended":1795877859.3,"exit_code":0,"node_list":"vm","node_seconds":10.136175155639648,"reason":"","step":2577}');
INSERT INTO "event" VALUES(146,1.79587785934711813926e+09,'trial_ended',1,20,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(147,1.79587785935387182238e+09,'launching',1,22,1,'{"backend":"local","folder":"/recorded/home/runs/1/22/1","nodes":1,"push_secret":"left out 147","ranks":1,"token":"eb25c8624eecd35b68ff354a75efcef6"}');
INSERT INTO "event" VALUES(148,1.79587785935957407949e+09,'recorded',1,22,1,'{"handle":"local:eb25c862"}');
INSERT INTO "event" VALUES(149,1.79587785936734771726e+09,'released',1,22,1,'{}');
INSERT INTO "event" VALUES(150,1.79587785961898827556e+09,'running',1,22,1,'{"node_list":"vm","started":1795877859.3758252}');
INSERT INTO "event" VALUES(151,1.79587786083915424348e+09,'note',1,22,1,'{"level":"info","text":"optimizer.lr: auto is 0.01 for lamb (good for batch 128 on Fashion-MNIST with a cosine; apex''s default is 0.001)"}');
INSERT INTO "event" VALUES(152,1.79587786450597429272e+09,'ended',1,22,1,'{"cause":"finished","ended":1795877864.463,"exit_code":0,"node_list":"vm","node_seconds":5.087174892425537,"reason":"","step":2577}');
INSERT INTO "event" VALUES(153,1.7958778645069012642e+09,'trial_ended',1,22,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(154,1.79587786451674151421e+09,'launching',1,23,1,'{"backend":"local","folder":"/recorded/home/runs/1/23/1","nodes":1,"push_secret":"left out 154","ranks":1,"token":"bc28d688ef11e6411a2ef25e39420c41"}');
INSERT INTO "event" VALUES(155,1.79587786451894569402e+09,'recorded',1,23,1,'{"handle":"local:bc28d688"}');
INSERT INTO "event" VALUES(156,1.79587786453198623663e+09,'released',1,23,1,'{}');
INSERT INTO "event" VALUES(157,1.79587786478466820711e+09,'running',1,23,1,'{"node_list":"vm","started":1795877864.5318253}');
INSERT INTO "event" VALUES(158,1.79587786530324792859e+09,'ended',1,21,1,'{"cause":"finished","ended":1795877865.246,"exit_code":0,"node_list":"vm","node_seconds":10.95817494392395,"reason":"","step":2577}');
INSERT INTO "event" VALUES(159,1.79587786530393338202e+09,'trial_ended',1,21,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(160,1.79587786530826377861e+09,'launching',1,24,1,'{"backend":"local","folder":"/recorded/home/runs/1/24/1","nodes":1,"push_secret":"left out 160","ranks":1,"token":"d19a09b574fc5842c5b539ab05a7e735"}');
INSERT INTO "event" VALUES(161,1.79587786531499528884e+09,'recorded',1,24,1,'{"handle":"local:d19a09b5"}');
INSERT INTO "event" VALUES(162,1.79587786531731581681e+09,'released',1,24,1,'{}');
INSERT INTO "event" VALUES(163,1.79587786556809449198e+09,'running',1,24,1,'{"node_list":"vm","started":1795877865.3278253}');
INSERT INTO "event" VALUES(164,1.79587786609946346285e+09,'note',1,23,1,'{"level":"info","text":"optimizer.lr: auto is 0.01 for lamb (good for batch 128 on Fashion-MNIST with a cosine; apex''s default is 0.001)"}');
INSERT INTO "event" VALUES(165,1.79587786733494853973e+09,'note',1,24,1,'{"level":"info","text":"optimizer.lr: auto is 0.01 for lamb (good for batch 128 on Fashion-MNIST with a cosine; apex''s default is 0.001)"}');
INSERT INTO "event" VALUES(166,1.79587787463287115101e+09,'ended',1,24,1,'{"cause":"finished","ended":1795877874.464,"exit_code":0,"node_list":"vm","node_seconds":9.13617467880249,"reason":"","step":2577}');
INSERT INTO "event" VALUES(167,1.7958778746389179229e+09,'trial_ended',1,24,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(168,1.79587787465702271457e+09,'launching',1,25,1,'{"backend":"local","folder":"/recorded/home/runs/1/25/1","nodes":1,"push_secret":"left out 168","ranks":1,"token":"4c02b495f18b20ac767cf6692b5226fb"}');
INSERT INTO "event" VALUES(169,1.79587787469183444979e+09,'recorded',1,25,1,'{"handle":"local:4c02b495"}');
INSERT INTO "event" VALUES(170,1.79587787470728039744e+09,'released',1,25,1,'{}');
INSERT INTO "event" VALUES(171,1.79587787495840167997e+09,'ended',1,23,1,'{"cause":"finished","ended":1795877874.81,"exit_code":0,"node_list":"vm","node_seconds":10.278174638748169,"reason":"","step":2577}');
INSERT INTO "event" VALUES(172,1.7958778749631242752e+09,'running',1,25,1,'{"node_list":"vm","started":1795877874.7158258}');
INSERT INTO "event" VALUES(173,1.79587787497485971447e+09,'trial_ended',1,23,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(174,1.79587787497739291195e+09,'launching',1,26,1,'{"backend":"local","folder":"/recorded/home/runs/1/26/1","nodes":1,"push_secret":"left out 174","ranks":1,"token":"96cbcf0ffd12aa13403d909b325f5f9e"}');
INSERT INTO "event" VALUES(175,1.79587787497988724712e+09,'recorded',1,26,1,'{"handle":"local:96cbcf0f"}');
INSERT INTO "event" VALUES(176,1.7958778749824223518e+09,'released',1,26,1,'{}');
INSERT INTO "event" VALUES(177,1.79587787523319911955e+09,'running',1,26,1,'{"node_list":"vm","started":1795877874.9838257}');
INSERT INTO "event" VALUES(178,1.79587787583226513865e+09,'note',1,25,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for muon (the author''s default, with AdamW at 3e-4 for the rest)"}');
INSERT INTO "event" VALUES(179,1.79587787650279498107e+09,'note',1,26,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for muon (the author''s default, with AdamW at 3e-4 for the rest)"}');
INSERT INTO "event" VALUES(180,1.79587793685897207261e+09,'ended',1,26,1,'{"cause":"finished","ended":1795877936.623,"exit_code":0,"node_list":"vm","node_seconds":61.63917422294617,"reason":"","step":2577}');
INSERT INTO "event" VALUES(181,1.79587793686687946319e+09,'trial_ended',1,26,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(182,1.79587793687103724482e+09,'launching',1,27,1,'{"backend":"local","folder":"/recorded/home/runs/1/27/1","nodes":1,"push_secret":"left out 182","ranks":1,"token":"f4d68ddf27e26b48591b4d24fec983fb"}');
INSERT INTO "event" VALUES(183,1.79587793689090776446e+09,'recorded',1,27,1,'{"handle":"local:f4d68ddf"}');
INSERT INTO "event" VALUES(184,1.79587793690317630763e+09,'released',1,27,1,'{}');
INSERT INTO "event" VALUES(185,1.7958779371539344788e+09,'running',1,27,1,'{"node_list":"vm","started":1795877936.899828}');
INSERT INTO "event" VALUES(186,1.79587793833888101574e+09,'note',1,27,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for muon (the author''s default, with AdamW at 3e-4 for the rest)"}');
INSERT INTO "event" VALUES(187,1.79587795474319887158e+09,'ended',1,25,1,'{"cause":"finished","ended":1795877954.651,"exit_code":0,"node_list":"vm","node_seconds":79.93517422676086,"reason":"","step":2577}');
INSERT INTO "event" VALUES(188,1.79587795474690723419e+09,'trial_ended',1,25,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(189,1.79587795475910711288e+09,'launching',1,28,1,'{"backend":"local","folder":"/recorded/home/runs/1/28/1","nodes":1,"push_secret":"left out 189","ranks":1,"token":"7e9b26f5a71457ecbc0aeadcaec67b2b"}');
INSERT INTO "event" VALUES(190,1.79587795477494955058e+09,'recorded',1,28,1,'{"handle":"local:7e9b26f5"}');
INSERT INTO "event" VALUES(191,1.79587795479377222056e+09,'released',1,28,1,'{}');
INSERT INTO "event" VALUES(192,1.79587795505338096617e+09,'running',1,28,1,'{"node_list":"vm","started":1795877954.7878284}');
INSERT INTO "event" VALUES(193,1.79587795618974542617e+09,'note',1,28,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for muon (the author''s default, with AdamW at 3e-4 for the rest)"}');
INSERT INTO "event" VALUES(194,1.79587801284748792641e+09,'ended',1,27,1,'{"cause":"finished","ended":1795878012.759,"exit_code":0,"node_list":"vm","node_seconds":75.85917210578918,"reason":"","step":2577}');
INSERT INTO "event" VALUES(195,1.79587801285092473033e+09,'trial_ended',1,27,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(196,1.79587801285636091234e+09,'launching',1,29,1,'{"backend":"local","folder":"/recorded/home/runs/1/29/1","nodes":1,"push_secret":"left out 196","ranks":1,"token":"7365330d4f539bb416bb58f857c7f59b"}');
INSERT INTO "event" VALUES(197,1.79587801287496066091e+09,'recorded',1,29,1,'{"handle":"local:7365330d"}');
INSERT INTO "event" VALUES(198,1.79587801289622831348e+09,'released',1,29,1,'{}');
INSERT INTO "event" VALUES(199,1.79587801315113043784e+09,'running',1,29,1,'{"node_list":"vm","started":1795878012.8931963}');
INSERT INTO "event" VALUES(200,1.79587801403880572325e+09,'note',1,29,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for muon (the author''s default, with AdamW at 3e-4 for the rest)"}');
INSERT INTO "event" VALUES(201,1795878042.86942,'ended',1,28,1,'{"cause":"finished","ended":1795878042.686,"exit_code":0,"node_list":"vm","node_seconds":87.8981716632843,"reason":"","step":2577}');
INSERT INTO "event" VALUES(202,1.79587804286993980408e+09,'trial_ended',1,28,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(203,1.79587804287501263617e+09,'launching',1,30,1,'{"backend":"local","folder":"/recorded/home/runs/1/30/1","nodes":1,"push_secret":"left out 203","ranks":1,"token":"5c000fabd61bae84ac1390d8f33bc464"}');
INSERT INTO "event" VALUES(204,1.79587804289097309118e+09,'recorded',1,30,1,'{"handle":"local:5c000fab"}');
INSERT INTO "event" VALUES(205,1.79587804291107773786e+09,'released',1,30,1,'{}');
INSERT INTO "event" VALUES(206,1.79587804316185188288e+09,'running',1,30,1,'{"node_list":"vm","started":1795878042.9158316}');
INSERT INTO "event" VALUES(207,1.79587804393780302997e+09,'note',1,30,1,'{"level":"info","text":"optimizer.lr: auto is 0.02 for muon (the author''s default, with AdamW at 3e-4 for the rest)"}');
INSERT INTO "event" VALUES(208,1.79587806043456244464e+09,'ended',1,29,1,'{"cause":"finished","ended":1795878060.359,"exit_code":0,"node_list":"vm","node_seconds":47.46580362319946,"reason":"","step":2577}');
INSERT INTO "event" VALUES(209,1.79587806043907594684e+09,'trial_ended',1,29,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(210,1.79587809251597714426e+09,'ended',1,30,1,'{"cause":"finished","ended":1795878092.411,"exit_code":0,"node_list":"vm","node_seconds":49.49516844749451,"reason":"","step":2577}');
INSERT INTO "event" VALUES(211,1.79587809251894164083e+09,'trial_ended',1,30,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(212,1.79587809252167940137e+09,'sweep_ended',1,0,0,'{"state":"finished"}');
CREATE TABLE metric_chunk (
  attempt INTEGER NOT NULL REFERENCES attempt (id),
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  number INTEGER NOT NULL,
  points INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  min REAL,
  max REAL,
  data TEXT NOT NULL,
  UNIQUE (attempt, metric, number)
);
INSERT INTO "metric_chunk" VALUES(2,18,0,41,64,2577,0.1088,0.1966,'[[64,0.1966,661602],[128,0.1906,714259],[192,0.1832,765859],[256,0.1576,824830],[320,0.1618,960065],[384,0.1548,1126825],[448,0.1436,1290807],[512,0.1482,1430811],[576,0.1466,1686144],[640,0.1516,1806481],[704,0.14,1956384],[768,0.1342,2040446],[832,0.1422,2117497],[896,0.1302,2206839],[960,0.1312,2284238],[1024,0.1242,2364286],[1088,0.1406,2443005],[1152,0.1246,2528308],[1216,0.124,2609560],[1280,0.1224,2690818],[1344,0.121,2771706],[1408,0.121,2848644],[1472,0.121,2932731],[1536,0.1156,3015783],[1600,0.115,3093022],[1664,0.1178,3170502],[1728,0.1138,3262665],[1792,0.116,3340269],[1856,0.1138,3425390],[1920,0.1128,3520873],[1984,0.1114,3598712],[2048,0.1122,3689520],[2112,0.1138,3768124],[2176,0.1124,3847927],[2240,0.1114,3929680],[2304,0.1102,4007163],[2368,0.1104,4092751],[2432,0.1088,4184271],[2496,0.1104,4269817],[2560,0.1106,4368217],[2577,0.1106,4426508]]');
INSERT INTO "metric_chunk" VALUES(1,18,0,41,64,2577,0.1108,0.2488,'[[64,0.2488,909155],[128,0.1974,1023180],[192,0.1638,1298068],[256,0.1802,1540673],[320,0.1656,1630154],[384,0.1538,1806584],[448,0.1448,1939483],[512,0.1438,2426818],[576,0.1408,2655835],[640,0.1428,2926140],[704,0.1342,3270821],[768,0.132,3474383],[832,0.1356,3859494],[896,0.1306,4283922],[960,0.1316,4433558],[1024,0.1218,4629236],[1088,0.1188,4750181],[1152,0.1286,4904312],[1216,0.1228,5043450],[1280,0.1202,5172807],[1344,0.124,5276339],[1408,0.1186,5419918],[1472,0.1192,5587693],[1536,0.1188,5857855],[1600,0.1184,6147635],[1664,0.1188,6295639],[1728,0.1136,6475828],[1792,0.1154,6602836],[1856,0.1152,6758824],[1920,0.1162,6903703],[1984,0.113,7018833],[2048,0.1158,7144786],[2112,0.1112,7280609],[2176,0.1134,7443431],[2240,0.1108,7601426],[2304,0.1114,7734826],[2368,0.1124,7875108],[2432,0.113,8016128],[2496,0.1134,8159217],[2560,0.1132,8294815],[2577,0.1132,8363306]]');
INSERT INTO "metric_chunk" VALUES(3,18,0,41,64,2577,0.1124,0.2016,'[[64,0.2016,641913],[128,0.1732,1118871],[192,0.194,1474819],[256,0.1606,1898633],[320,0.1696,2340971],[384,0.1574,2562903],[448,0.1474,2759785],[512,0.1332,2994826],[576,0.1398,3220021],[640,0.1334,3342828],[704,0.1398,3474834],[768,0.1318,3614817],[832,0.1354,3722487],[896,0.1314,3874811],[960,0.1356,3978830],[1024,0.1334,4085041],[1088,0.1238,4195549],[1152,0.1226,4441190],[1216,0.12,4662816],[1280,0.116,4843482],[1344,0.1196,4986334],[1408,0.125,5179339],[1472,0.1212,5284729],[1536,0.1194,5462803],[1600,0.1182,5616452],[1664,0.1162,5813627],[1728,0.1166,6105205],[1792,0.1146,6204472],[1856,0.1156,6286329],[1920,0.1174,6374646],[1984,0.1154,6465464],[2048,0.1162,6549971],[2112,0.1124,6650441],[2176,0.1124,6875650],[2240,0.1134,7119028],[2304,0.1166,7311991],[2368,0.1166,7570839],[2432,0.1164,7822839],[2496,0.1154,8110838],[2560,0.1148,8323314],[2577,0.1148,8488836]]');
INSERT INTO "metric_chunk" VALUES(4,18,0,41,64,2577,0.1122,0.2372,'[[64,0.2372,266769],[128,0.2196,499179],[192,0.1666,654826],[256,0.164,802857],[320,0.1676,971097],[384,0.1502,1273692],[448,0.162,1443427],[512,0.1422,1641210],[576,0.1494,1806848],[640,0.1474,1978825],[704,0.1458,2162804],[768,0.131,2480646],[832,0.1264,2738708],[896,0.129,2854131],[960,0.1354,2949318],[1024,0.13,3221040],[1088,0.1264,3354809],[1152,0.1264,3522929],[1216,0.1262,3806835],[1280,0.125,3999916],[1344,0.1258,4322824],[1408,0.122,4423058],[1472,0.1224,4661888],[1536,0.1164,4898604],[1600,0.1234,5074808],[1664,0.113,5309566],[1728,0.1184,5560907],[1792,0.1132,5756650],[1856,0.1182,5992043],[1920,0.1164,6140433],[1984,0.1152,6326820],[2048,0.114,6560223],[2112,0.1148,6778909],[2176,0.1132,7069620],[2240,0.1136,7290248],[2304,0.1122,7712079],[2368,0.113,8090253],[2432,0.1128,8492313],[2496,0.1132,8734539],[2560,0.1132,9155629],[2577,0.1132,9343141]]');
INSERT INTO "metric_chunk" VALUES(5,18,0,41,64,2577,0.1136,0.2134,'[[64,0.2134,82188],[128,0.1952,277238],[192,0.2084,491844],[256,0.1698,726833],[320,0.1486,850807],[384,0.1498,995701],[448,0.1512,1074830],[512,0.1406,1168305],[576,0.1482,1395500],[640,0.145,1471491],[704,0.1336,1578699],[768,0.1334,1723741],[832,0.1298,1858708],[896,0.1386,2132242],[960,0.1338,2410823],[1024,0.1466,2654419],[1088,0.124,2864773],[1152,0.1236,2948120],[1216,0.1208,2998615],[1280,0.1322,3050072],[1344,0.123,3101931],[1408,0.1204,3179172],[1472,0.1166,3334848],[1536,0.1208,3558830],[1600,0.1176,3798828],[1664,0.1206,4069257],[1728,0.1136,4366811],[1792,0.1176,4639520],[1856,0.1198,4842828],[1920,0.1164,5042828],[1984,0.1158,5198804],[2048,0.1156,5363428],[2112,0.1152,5543376],[2176,0.1146,5663319],[2240,0.1166,5770849],[2304,0.1148,5971222],[2368,0.1166,6083503],[2432,0.1162,6188071],[2496,0.1162,6298856],[2560,0.1162,6373022],[2577,0.1162,6409319]]');
INSERT INTO "metric_chunk" VALUES(6,18,0,41,64,2577,0.1106,0.2272,'[[64,0.2272,1017686],[128,0.18,1231701],[192,0.1736,1472016],[256,0.203,1653516],[320,0.1724,1843322],[384,0.1528,1930815],[448,0.1532,2015625],[512,0.14,2246256],[576,0.1402,2491751],[640,0.141,2701116],[704,0.1436,2877444],[768,0.1586,3080175],[832,0.1314,3299458],[896,0.136,3510065],[960,0.1308,3708346],[1024,0.1304,3914793],[1088,0.1212,4130796],[1152,0.1292,4258699],[1216,0.126,4508533],[1280,0.127,4745185],[1344,0.1188,5441135],[1408,0.1218,6289667],[1472,0.1198,6794805],[1536,0.1176,6982796],[1600,0.1262,7150811],[1664,0.1182,7366810],[1728,0.1162,7677160],[1792,0.115,7897074],[1856,0.116,7986107],[1920,0.1152,8091187],[1984,0.1122,8226816],[2048,0.1136,8498809],[2112,0.1124,8774871],[2176,0.1138,9108627],[2240,0.1122,9346814],[2304,0.1124,9618796],[2368,0.1122,9853864],[2432,0.1106,10086662],[2496,0.1114,10327166],[2560,0.1116,10550802],[2577,0.1116,10650020]]');
INSERT INTO "metric_chunk" VALUES(7,18,0,41,64,2577,0.1056,0.2236,'[[64,0.2236,368984],[128,0.1876,436580],[192,0.1582,501124],[256,0.1574,572427],[320,0.1536,633033],[384,0.1444,710789],[448,0.154,785624],[512,0.151,848735],[576,0.1342,908463],[640,0.1412,961543],[704,0.1444,1014317],[768,0.1394,1068686],[832,0.1332,1120664],[896,0.136,1181729],[960,0.1234,1234923],[1024,0.1266,1287193],[1088,0.12,1361432],[1152,0.1296,1444378],[1216,0.1194,1523592],[1280,0.1178,1603821],[1344,0.116,1682263],[1408,0.1148,1779921],[1472,0.1164,1858611],[1536,0.1218,1936861],[1600,0.1162,2020003],[1664,0.1218,2102908],[1728,0.1106,2206592],[1792,0.1102,2294668],[1856,0.1104,2390423],[1920,0.1106,2468818],[1984,0.109,2549282],[2048,0.1114,2635091],[2112,0.1066,2744371],[2176,0.1066,2851726],[2240,0.1086,3022372],[2304,0.1084,3165261],[2368,0.1066,3285729],[2432,0.1056,3396218],[2496,0.1062,3490016],[2560,0.1068,3588509],[2577,0.1068,3635853]]');
INSERT INTO "metric_chunk" VALUES(8,18,0,41,64,2577,0.1032,0.2334,'[[64,0.2334,904078],[128,0.1734,1239942],[192,0.1634,1564788],[256,0.1628,1722085],[320,0.1542,1915860],[384,0.1406,2093611],[448,0.1458,2283722],[512,0.1538,2479303],[576,0.1462,2667037],[640,0.1402,2846226],[704,0.1356,3037733],[768,0.1322,3164033],[832,0.1294,3217850],[896,0.1332,3283020],[960,0.1226,3336836],[1024,0.1346,3390990],[1088,0.1238,3450963],[1152,0.1168,3504527],[1216,0.1222,3559387],[1280,0.1172,3616453],[1344,0.1122,3670087],[1408,0.112,3723355],[1472,0.1154,3775088],[1536,0.1152,3831324],[1600,0.1096,3884875],[1664,0.1122,3939013],[1728,0.1092,3999423],[1792,0.1078,4053010],[1856,0.106,4106151],[1920,0.105,4190245],[1984,0.1048,4245183],[2048,0.1064,4434827],[2112,0.1042,4786240],[2176,0.104,5600039],[2240,0.1032,5786790],[2304,0.106,6035792],[2368,0.1052,6342799],[2432,0.1062,6510974],[2496,0.1058,6691076],[2560,0.1054,6827892],[2577,0.1054,6857545]]');
INSERT INTO "metric_chunk" VALUES(9,18,0,41,64,2577,0.1028,0.2052,'[[64,0.2052,1005603],[128,0.176,1236938],[192,0.1614,1339182],[256,0.1706,1418626],[320,0.1522,1501896],[384,0.1598,1598151],[448,0.152,1681946],[512,0.1312,1787307],[576,0.1458,1868675],[640,0.1302,1950905],[704,0.1378,2033148],[768,0.1388,2117301],[832,0.132,2209370],[896,0.145,2321651],[960,0.1326,2410721],[1024,0.131,2496018],[1088,0.122,2578896],[1152,0.1228,2687141],[1216,0.1176,2769339],[1280,0.1152,2852849],[1344,0.1188,2936592],[1408,0.118,3018197],[1472,0.1176,3096558],[1536,0.1122,3181133],[1600,0.1124,3258909],[1664,0.1098,3337018],[1728,0.1102,3566799],[1792,0.109,3838800],[1856,0.1118,3993425],[1920,0.1058,4121591],[1984,0.1074,4338786],[2048,0.1058,4619728],[2112,0.1028,4898465],[2176,0.1034,5179831],[2240,0.1056,5470825],[2304,0.105,5747850],[2368,0.1046,6016042],[2432,0.1072,6186801],[2496,0.1052,6406824],[2560,0.1046,6646794],[2577,0.1046,6766850]]');
INSERT INTO "metric_chunk" VALUES(10,18,0,41,64,2577,0.1034,0.2172,'[[64,0.2172,1046708],[128,0.1698,1369115],[192,0.1618,1586531],[256,0.1632,1730434],[320,0.1456,1927314],[384,0.1472,2094913],[448,0.1584,2324069],[512,0.1378,2493908],[576,0.133,2700680],[640,0.1644,2890570],[704,0.131,3089221],[768,0.1286,3270176],[832,0.1324,3433374],[896,0.1228,3618610],[960,0.1316,3814557],[1024,0.1282,4015070],[1088,0.1222,4202952],[1152,0.1194,4414837],[1216,0.1234,4947533],[1280,0.1302,5011841],[1344,0.1148,5253311],[1408,0.1218,5464110],[1472,0.1148,5647692],[1536,0.1126,5998405],[1600,0.1162,6323446],[1664,0.1154,6534910],[1728,0.1126,6806759],[1792,0.1088,6963787],[1856,0.1102,7078825],[1920,0.1066,7237625],[1984,0.1076,7458798],[2048,0.1056,7726816],[2112,0.1064,8121323],[2176,0.1052,8384558],[2240,0.1068,8612999],[2304,0.104,8901451],[2368,0.1046,9206264],[2432,0.1034,9454798],[2496,0.1038,9715905],[2560,0.104,9966616],[2577,0.104,10054796]]');
INSERT INTO "metric_chunk" VALUES(11,18,0,41,64,2577,0.1042,0.195,'[[64,0.195,225098],[128,0.171,358782],[192,0.1668,515879],[256,0.1494,654902],[320,0.1518,850663],[384,0.1494,1025345],[448,0.1472,1225476],[512,0.1282,1443222],[576,0.1344,1522121],[640,0.1398,1605948],[704,0.132,1668890],[768,0.1264,1745200],[832,0.1272,1815854],[896,0.1246,1891625],[960,0.124,1958273],[1024,0.1226,2030826],[1088,0.1196,2093178],[1152,0.118,2158290],[1216,0.117,2213303],[1280,0.1274,2267079],[1344,0.113,2328247],[1408,0.1148,2390784],[1472,0.115,2449403],[1536,0.1176,2502430],[1600,0.1152,2556947],[1664,0.1108,2611940],[1728,0.1112,2694572],[1792,0.1088,2757338],[1856,0.1126,2837536],[1920,0.1076,2905479],[1984,0.1058,2970513],[2048,0.1102,3037798],[2112,0.1066,3103377],[2176,0.1066,3156512],[2240,0.1072,3221764],[2304,0.1054,3384981],[2368,0.1042,3530253],[2432,0.105,3651667],[2496,0.1054,3761978],[2560,0.1052,3835901],[2577,0.1052,3860075]]');
INSERT INTO "metric_chunk" VALUES(12,18,0,41,64,2577,0.1046,0.215,'[[64,0.215,1055908],[128,0.1818,1384886],[192,0.1718,1677144],[256,0.1532,1966406],[320,0.1894,2222804],[384,0.1454,2394894],[448,0.1546,2567502],[512,0.1466,2748044],[576,0.131,2942805],[640,0.145,3138807],[704,0.1316,3326869],[768,0.1372,3514791],[832,0.1278,3701526],[896,0.1274,3949417],[960,0.1372,4202792],[1024,0.1246,4430823],[1088,0.1204,4646778],[1152,0.1362,4855008],[1216,0.1188,5043674],[1280,0.1208,5255061],[1344,0.1188,5493216],[1408,0.1196,5849161],[1472,0.1184,6120642],[1536,0.1148,6378061],[1600,0.1124,6609539],[1664,0.1146,6740645],[1728,0.1148,6951558],[1792,0.1144,7058549],[1856,0.1126,7171449],[1920,0.1094,7283546],[1984,0.1102,7399486],[2048,0.1102,7516418],[2112,0.109,7608670],[2176,0.1116,7727946],[2240,0.1068,7824810],[2304,0.1068,7896308],[2368,0.1066,8053727],[2432,0.1056,8286112],[2496,0.105,8533876],[2560,0.1046,8790991],[2577,0.1046,8884369]]');
INSERT INTO "metric_chunk" VALUES(13,18,0,41,64,2577,0.109,0.2058,'[[64,0.2058,148086],[128,0.1758,265325],[192,0.1596,351196],[256,0.1546,459457],[320,0.1498,574463],[384,0.1552,700000],[448,0.1466,802506],[512,0.144,922903],[576,0.1384,980045],[640,0.14,1073716],[704,0.1408,1190653],[768,0.143,1311785],[832,0.1368,1417133],[896,0.1316,1532851],[960,0.1224,1692815],[1024,0.1238,1849060],[1088,0.1198,2079479],[1152,0.1298,2360399],[1216,0.1184,2607964],[1280,0.1176,2906145],[1344,0.1138,3324149],[1408,0.1208,3718825],[1472,0.1206,4066232],[1536,0.1202,4344777],[1600,0.1178,4649141],[1664,0.1216,4910855],[1728,0.1126,5166822],[1792,0.1162,5456947],[1856,0.1152,5776362],[1920,0.1144,6076059],[1984,0.1114,6222785],[2048,0.1128,6318800],[2112,0.1126,6418552],[2176,0.1146,6521115],[2240,0.109,6625764],[2304,0.1096,6733042],[2368,0.111,6830799],[2432,0.1124,6944553],[2496,0.1128,7084710],[2560,0.1126,7197871],[2577,0.1126,7306823]]');
INSERT INTO "metric_chunk" VALUES(14,18,0,41,64,2577,0.106,0.2042,'[[64,0.2042,833973],[128,0.173,1206808],[192,0.167,1450995],[256,0.1476,1592456],[320,0.1574,1874908],[384,0.1536,2161557],[448,0.148,2478785],[512,0.1566,2687024],[576,0.1358,2894444],[640,0.136,3084476],[704,0.135,3303039],[768,0.1278,3465411],[832,0.1248,3691430],[896,0.1244,3871786],[960,0.1264,4030798],[1024,0.1272,4206792],[1088,0.122,4379315],[1152,0.1234,4510075],[1216,0.1244,4667713],[1280,0.1194,4835670],[1344,0.1152,5023261],[1408,0.1136,5198799],[1472,0.1176,5345419],[1536,0.1164,5533742],[1600,0.1168,5875243],[1664,0.1136,6218808],[1728,0.1128,6519680],[1792,0.1136,6760853],[1856,0.1104,7101904],[1920,0.1096,7338954],[1984,0.1092,7451311],[2048,0.1096,7543380],[2112,0.109,7715474],[2176,0.1082,8055005],[2240,0.1084,8368876],[2304,0.106,8578973],[2368,0.108,8882864],[2432,0.1074,9204383],[2496,0.1074,9498924],[2560,0.1072,9783568],[2577,0.1072,9919651]]');
INSERT INTO "metric_chunk" VALUES(15,18,0,41,64,2577,0.1054,0.2176,'[[64,0.2176,151376],[128,0.1642,455423],[192,0.1656,731234],[256,0.1568,1043029],[320,0.1488,1350800],[384,0.1452,1488138],[448,0.1556,1626801],[512,0.1378,1761911],[576,0.144,1929289],[640,0.132,2107282],[704,0.1346,2254199],[768,0.13,2638370],[832,0.1308,2960451],[896,0.1376,3283540],[960,0.1314,3612511],[1024,0.126,3922172],[1088,0.1234,4210120],[1152,0.1222,4465512],[1216,0.119,4603130],[1280,0.1202,4690329],[1344,0.1176,4810803],[1408,0.1186,5173440],[1472,0.1184,5543960],[1536,0.1172,5939932],[1600,0.1142,6302811],[1664,0.112,6653988],[1728,0.1116,7033267],[1792,0.1116,7230543],[1856,0.112,7313874],[1920,0.1096,7527861],[1984,0.108,7886825],[2048,0.109,8158791],[2112,0.109,8427503],[2176,0.1054,8754783],[2240,0.106,8822796],[2304,0.1078,8883680],[2368,0.1078,8950801],[2432,0.1074,9042789],[2496,0.1068,9131803],[2560,0.1064,9190784],[2577,0.1064,9222852]]');
INSERT INTO "metric_chunk" VALUES(16,18,0,41,64,2577,0.1058,0.2116,'[[64,0.2116,462797],[128,0.1722,686803],[192,0.158,974804],[256,0.1502,1234806],[320,0.1434,1328987],[384,0.143,1392445],[448,0.1572,1454386],[512,0.1468,1524742],[576,0.131,1594547],[640,0.156,1652837],[704,0.137,1718637],[768,0.1312,1823663],[832,0.1294,1881144],[896,0.124,1944374],[960,0.1342,1996915],[1024,0.1318,2053578],[1088,0.1218,2106198],[1152,0.1234,2161352],[1216,0.1218,2224411],[1280,0.1228,2289893],[1344,0.115,2359994],[1408,0.1184,2435318],[1472,0.115,2546364],[1536,0.1134,2653758],[1600,0.1128,2745752],[1664,0.111,2842945],[1728,0.1076,3003301],[1792,0.1106,3096368],[1856,0.1106,3189323],[1920,0.1088,3263458],[1984,0.1108,3317040],[2048,0.1078,3372137],[2112,0.1076,3427589],[2176,0.1058,3484104],[2240,0.1076,3549710],[2304,0.107,3605545],[2368,0.1062,3664134],[2432,0.1066,3720361],[2496,0.1068,3789067],[2560,0.1068,3890836],[2577,0.1068,3981703]]');
INSERT INTO "metric_chunk" VALUES(17,18,0,41,64,2577,0.1072,0.2108,'[[64,0.2108,534790],[128,0.1758,910361],[192,0.1666,1275597],[256,0.1538,1594877],[320,0.1544,1883844],[384,0.1434,2139080],[448,0.143,2238646],[512,0.1404,2307060],[576,0.1346,2364179],[640,0.1382,2424052],[704,0.13,2476881],[768,0.1274,2529564],[832,0.1274,2582807],[896,0.1274,2653373],[960,0.1236,2712510],[1024,0.13,2779392],[1088,0.1234,2838333],[1152,0.1198,2893431],[1216,0.1172,2951045],[1280,0.1244,3007274],[1344,0.1154,3062432],[1408,0.1158,3117159],[1472,0.1128,3174367],[1536,0.1216,3230945],[1600,0.1162,3290264],[1664,0.1108,3357907],[1728,0.1124,3453929],[1792,0.1126,3518753],[1856,0.1136,3585867],[1920,0.11,3654656],[1984,0.1114,3732744],[2048,0.1112,3841075],[2112,0.1072,3945702],[2176,0.1094,4040247],[2240,0.1122,4108207],[2304,0.1082,4208959],[2368,0.1082,4281707],[2432,0.1086,4354989],[2496,0.1082,4413634],[2560,0.1084,4481814],[2577,0.1084,4518489]]');
INSERT INTO "metric_chunk" VALUES(18,18,0,41,64,2577,0.1086,0.207,'[[64,0.2054,961246],[128,0.1874,1269641],[192,0.1678,1578811],[256,0.1546,1726821],[320,0.207,1842813],[384,0.1418,1974818],[448,0.1412,2130794],[512,0.1412,2246603],[576,0.1358,2402577],[640,0.1338,2539295],[704,0.1298,2660475],[768,0.132,2790325],[832,0.1292,2923880],[896,0.1306,3060854],[960,0.129,3153097],[1024,0.1282,3245739],[1088,0.1254,3331719],[1152,0.1334,3418678],[1216,0.1176,3524852],[1280,0.1228,3615181],[1344,0.1156,3706264],[1408,0.1216,3796750],[1472,0.1156,3884394],[1536,0.1142,3967962],[1600,0.1148,4052788],[1664,0.1164,4143656],[1728,0.1132,4273214],[1792,0.1118,4362535],[1856,0.113,4464020],[1920,0.1106,4553149],[1984,0.1114,4655021],[2048,0.1102,4739025],[2112,0.1102,4843304],[2176,0.1094,4943416],[2240,0.109,5040435],[2304,0.1086,5144339],[2368,0.1094,5264224],[2432,0.1088,5382530],[2496,0.1088,5515084],[2560,0.109,5649148],[2577,0.109,5721906]]');
INSERT INTO "metric_chunk" VALUES(19,18,0,41,64,2577,0.1014,0.2514,'[[64,0.2514,697433],[128,0.195,1427134],[192,0.1724,1847458],[256,0.1706,2222549],[320,0.1836,2638302],[384,0.1498,2988875],[448,0.1628,3234841],[512,0.1588,3306760],[576,0.1442,3428186],[640,0.1578,3702119],[704,0.1668,3859821],[768,0.142,3946821],[832,0.1428,4018814],[896,0.1348,4171961],[960,0.1298,4359406],[1024,0.1376,4586808],[1088,0.1364,4842804],[1152,0.1328,5103135],[1216,0.129,5327263],[1280,0.126,5429879],[1344,0.13,5541040],[1408,0.1278,5648483],[1472,0.121,5730670],[1536,0.1252,5846789],[1600,0.1224,5949876],[1664,0.1192,6076983],[1728,0.1206,6194773],[1792,0.1108,6319368],[1856,0.1162,6434338],[1920,0.1104,6516560],[1984,0.1096,6597696],[2048,0.1104,6703746],[2112,0.1056,7087932],[2176,0.1054,7443970],[2240,0.1038,7783461],[2304,0.1014,8158758],[2368,0.1036,8336812],[2432,0.1034,8610610],[2496,0.1026,8888341],[2560,0.1024,9016254],[2577,0.1026,9117723]]');
INSERT INTO "metric_chunk" VALUES(20,18,0,41,64,2577,0.1026,0.221,'[[64,0.221,882793],[128,0.1794,1312214],[192,0.1752,1642805],[256,0.165,1770867],[320,0.1704,2103122],[384,0.1574,2334809],[448,0.1542,2615160],[512,0.173,2918825],[576,0.1616,3126820],[640,0.156,3330804],[704,0.1492,3488670],[768,0.1368,3587207],[832,0.1528,3789974],[896,0.1442,3946782],[960,0.1286,4070938],[1024,0.1386,4162986],[1088,0.1396,4248322],[1152,0.1408,4371211],[1216,0.141,4524795],[1280,0.1326,4747485],[1344,0.1194,4976581],[1408,0.1378,5223674],[1472,0.12,5456968],[1536,0.1172,5688203],[1600,0.1196,5798984],[1664,0.13,5938817],[1728,0.1168,6147319],[1792,0.1138,6282033],[1856,0.1126,6420327],[1920,0.1084,6532665],[1984,0.1074,6688792],[2048,0.1082,7022835],[2112,0.1056,7182507],[2176,0.107,7342790],[2240,0.1034,7672850],[2304,0.1032,8011911],[2368,0.1028,8412517],[2432,0.1034,8857419],[2496,0.103,9021738],[2560,0.1026,9173509],[2577,0.1026,9238984]]');
INSERT INTO "metric_chunk" VALUES(21,18,0,41,64,2577,0.1042,0.2036,'[[64,0.2036,479387],[128,0.1852,695020],[192,0.1712,800058],[256,0.1844,888413],[320,0.1636,984918],[384,0.1656,1199785],[448,0.1666,1480530],[512,0.144,1611698],[576,0.1508,1746802],[640,0.1342,2063991],[704,0.1476,2377956],[768,0.1526,2713159],[832,0.1406,2833104],[896,0.1456,3360411],[960,0.146,3557063],[1024,0.1442,3741036],[1088,0.1372,3891773],[1152,0.1308,3988434],[1216,0.1276,4085971],[1280,0.1334,4227537],[1344,0.1392,4330509],[1408,0.1308,4432799],[1472,0.1248,4545863],[1536,0.1246,4703616],[1600,0.1234,4834500],[1664,0.1158,5022438],[1728,0.1148,5174869],[1792,0.1122,5289802],[1856,0.1168,5599727],[1920,0.112,5770832],[1984,0.1076,6042901],[2048,0.1112,6665607],[2112,0.1078,6931935],[2176,0.1044,7325009],[2240,0.1042,7652227],[2304,0.1052,8002805],[2368,0.1064,8464683],[2432,0.1068,8658871],[2496,0.1064,8867763],[2560,0.1066,9073672],[2577,0.1066,9178914]]');
INSERT INTO "metric_chunk" VALUES(22,18,0,41,64,2577,0.1042,0.2112,'[[64,0.2112,974292],[128,0.1656,1067778],[192,0.1756,1201609],[256,0.1736,1309101],[320,0.1596,1400679],[384,0.1508,1496004],[448,0.1702,1586434],[512,0.1598,1656958],[576,0.1536,1720042],[640,0.1666,1789000],[704,0.1478,1861703],[768,0.1332,1925138],[832,0.1434,1990495],[896,0.137,2059132],[960,0.1486,2123998],[1024,0.1498,2179785],[1088,0.133,2235175],[1152,0.1376,2292169],[1216,0.1346,2347935],[1280,0.1378,2404722],[1344,0.1204,2461031],[1408,0.1292,2518220],[1472,0.1248,2589398],[1536,0.1184,2727152],[1600,0.1318,2831285],[1664,0.1222,2931664],[1728,0.1236,3036833],[1792,0.112,3130410],[1856,0.1134,3226833],[1920,0.1094,3331569],[1984,0.1164,3426557],[2048,0.1058,3518840],[2112,0.106,3628896],[2176,0.1042,3733063],[2240,0.1096,3836244],[2304,0.1046,3930067],[2368,0.1046,4029057],[2432,0.1048,4114510],[2496,0.1058,4217097],[2560,0.106,4345315],[2577,0.106,4411147]]');
INSERT INTO "metric_chunk" VALUES(23,18,0,41,64,2577,0.1046,0.2014,'[[64,0.2014,215202],[128,0.1808,275029],[192,0.1634,335013],[256,0.156,397852],[320,0.1578,463634],[384,0.1516,521880],[448,0.1612,579932],[512,0.1478,643214],[576,0.1414,702715],[640,0.136,780938],[704,0.1386,900409],[768,0.144,1003418],[832,0.1426,1092853],[896,0.1442,1177900],[960,0.1458,1245675],[1024,0.1372,1334437],[1088,0.1304,1421444],[1152,0.1238,1640685],[1216,0.135,1941605],[1280,0.1484,2909519],[1344,0.1196,3722352],[1408,0.1224,4141052],[1472,0.1224,4660504],[1536,0.1264,4876158],[1600,0.1238,5217677],[1664,0.1264,5364232],[1728,0.1134,5588417],[1792,0.118,5752130],[1856,0.1154,6147497],[1920,0.1138,6488110],[1984,0.1108,6622808],[2048,0.1112,6766805],[2112,0.1124,6914045],[2176,0.1084,7104509],[2240,0.1068,7246063],[2304,0.1064,7386177],[2368,0.1058,7605350],[2432,0.1046,7825128],[2496,0.1058,8366809],[2560,0.1058,8586804],[2577,0.1058,8704916]]');
INSERT INTO "metric_chunk" VALUES(24,18,0,41,64,2577,0.1052,0.2346,'[[64,0.2346,542268],[128,0.1948,638314],[192,0.1736,736379],[256,0.1632,827896],[320,0.173,943462],[384,0.1554,1046486],[448,0.1578,1145525],[512,0.1558,1241205],[576,0.1554,1352160],[640,0.1452,1452747],[704,0.1488,1549842],[768,0.1448,1649246],[832,0.149,1744540],[896,0.1408,1852437],[960,0.1438,1944246],[1024,0.1518,2032997],[1088,0.1338,2120328],[1152,0.1498,2208960],[1216,0.1186,2297432],[1280,0.1312,2396103],[1344,0.129,2505196],[1408,0.1288,2654187],[1472,0.119,2768519],[1536,0.1188,2868196],[1600,0.12,2974324],[1664,0.1192,3111663],[1728,0.118,3411871],[1792,0.1162,3588040],[1856,0.1128,3727069],[1920,0.1098,4239846],[1984,0.113,4866430],[2048,0.1086,5203936],[2112,0.109,5886391],[2176,0.1066,6112055],[2240,0.1056,6508691],[2304,0.1066,6810489],[2368,0.1074,7042659],[2432,0.1078,7141717],[2496,0.1054,7230819],[2560,0.1052,7322236],[2577,0.1052,7377859]]');
INSERT INTO "metric_chunk" VALUES(25,18,0,41,64,2577,0.0914,0.178,'[[64,0.178,1445643],[128,0.1396,2943613],[192,0.1352,4454052],[256,0.1226,6516804],[320,0.1286,8930814],[384,0.1248,11169552],[448,0.1266,12970866],[512,0.1154,14635272],[576,0.1088,16600865],[640,0.1228,17814815],[704,0.1076,18637267],[768,0.1106,20601131],[832,0.1094,23355950],[896,0.1028,25258801],[960,0.1054,27182841],[1024,0.102,29653794],[1088,0.0996,31153533],[1152,0.105,33628817],[1216,0.1004,36997762],[1280,0.098,40346813],[1344,0.0958,43298795],[1408,0.1046,45922817],[1472,0.095,48614868],[1536,0.098,50674835],[1600,0.0996,52848081],[1664,0.096,54982820],[1728,0.0952,57378801],[1792,0.0942,59894812],[1856,0.094,61217374],[1920,0.0946,62769393],[1984,0.0944,64645708],[2048,0.0936,66231547],[2112,0.0934,68078851],[2176,0.0926,69739703],[2240,0.0926,72254818],[2304,0.0914,73893357],[2368,0.0932,74982823],[2432,0.0926,76536086],[2496,0.0932,77370807],[2560,0.0934,78370815],[2577,0.0934,78562800]]');
INSERT INTO "metric_chunk" VALUES(26,18,0,41,64,2577,0.0898,0.1808,'[[64,0.1808,936253],[128,0.1472,2557062],[192,0.139,4274887],[256,0.1306,6334822],[320,0.1194,7978817],[384,0.122,9214853],[448,0.1168,10595712],[512,0.1162,11692546],[576,0.113,12570822],[640,0.1118,13510910],[704,0.1116,15148792],[768,0.1106,16307226],[832,0.103,17813340],[896,0.107,19432276],[960,0.1054,20859613],[1024,0.1032,22420609],[1088,0.1014,23866804],[1152,0.0966,25199593],[1216,0.0984,25982329],[1280,0.1014,26522934],[1344,0.0986,27067063],[1408,0.0916,27594805],[1472,0.096,28135478],[1536,0.0966,29266802],[1600,0.0958,30525043],[1664,0.092,32067478],[1728,0.093,33241551],[1792,0.0924,35447062],[1856,0.0898,38150999],[1920,0.0916,39711545],[1984,0.0906,41166832],[2048,0.0928,42140890],[2112,0.0926,44126832],[2176,0.0926,46154831],[2240,0.0914,48423907],[2304,0.0914,50274284],[2368,0.0916,52395270],[2432,0.0912,54441753],[2496,0.0912,56555149],[2560,0.0914,58932459],[2577,0.0914,59546809]]');
INSERT INTO "metric_chunk" VALUES(27,18,0,41,64,2577,0.0862,0.1664,'[[64,0.1664,1250816],[128,0.1376,3212075],[192,0.1332,4706381],[256,0.1292,7215818],[320,0.1234,10103722],[384,0.1238,12015109],[448,0.1192,13716113],[512,0.1128,15818509],[576,0.1186,18201333],[640,0.1156,20940515],[704,0.111,23587243],[768,0.1096,26138828],[832,0.1156,28090813],[896,0.1102,30320907],[960,0.1114,32270867],[1024,0.1084,34109032],[1088,0.1088,34879344],[1152,0.1054,36534805],[1216,0.1016,38513880],[1280,0.0994,40624157],[1344,0.1042,42751156],[1408,0.1046,45248412],[1472,0.0994,47999539],[1536,0.1008,49480804],[1600,0.095,51468354],[1664,0.0966,52195568],[1728,0.095,53252238],[1792,0.0942,54086836],[1856,0.0952,55464297],[1920,0.0946,56222871],[1984,0.0894,57704175],[2048,0.0912,59342824],[2112,0.0898,59935321],[2176,0.0862,60778798],[2240,0.0868,62952834],[2304,0.0888,65319071],[2368,0.0884,67002818],[2432,0.0898,68834809],[2496,0.089,70570830],[2560,0.0892,72982136],[2577,0.0892,73686823]]');
INSERT INTO "metric_chunk" VALUES(28,18,0,41,64,2577,0.0936,0.1732,'[[64,0.1732,1990872],[128,0.15,4708305],[192,0.1362,7311866],[256,0.1262,10124882],[320,0.1268,12910851],[384,0.1194,14607441],[448,0.1226,17117009],[512,0.115,19286801],[576,0.115,21268031],[640,0.1202,23452001],[704,0.1164,25500206],[768,0.1082,26379716],[832,0.1138,27267673],[896,0.1038,28622573],[960,0.1054,30466843],[1024,0.1028,33078829],[1088,0.1048,35366805],[1152,0.1064,37086815],[1216,0.1022,38335256],[1280,0.1022,39956011],[1344,0.0996,42516983],[1408,0.1,44986813],[1472,0.0964,47546840],[1536,0.098,50358817],[1600,0.1,53218799],[1664,0.0986,55731335],[1728,0.0952,58263963],[1792,0.0956,60761171],[1856,0.0968,62863827],[1920,0.0962,64602145],[1984,0.096,69467909],[2048,0.094,71247859],[2112,0.0936,72921050],[2176,0.0942,74658823],[2240,0.0952,75607453],[2304,0.0954,77919591],[2368,0.0956,81099181],[2432,0.0952,82455162],[2496,0.0956,83620973],[2560,0.0956,85151667],[2577,0.0956,85631405]]');
INSERT INTO "metric_chunk" VALUES(29,18,0,41,64,2577,0.0936,0.186,'[[64,0.186,302799],[128,0.1446,1668782],[192,0.1272,2271749],[256,0.123,3058817],[320,0.1296,4302797],[384,0.1226,6038860],[448,0.1236,7162802],[512,0.1238,8018031],[576,0.1164,8610792],[640,0.1206,9310814],[704,0.1152,9978809],[768,0.1044,10526800],[832,0.1068,11223001],[896,0.1048,12531325],[960,0.1038,14150812],[1024,0.101,15766815],[1088,0.1044,17594806],[1152,0.1004,19339369],[1216,0.0998,20968435],[1280,0.1074,21980035],[1344,0.1004,23032601],[1408,0.1004,24631394],[1472,0.0992,25598940],[1536,0.1032,27056874],[1600,0.0984,28410802],[1664,0.0982,29643164],[1728,0.0964,30627743],[1792,0.0984,31812598],[1856,0.0988,32974812],[1920,0.0968,33838806],[1984,0.0976,34339419],[2048,0.0954,35694804],[2112,0.0948,37247528],[2176,0.0944,38662802],[2240,0.0936,39200365],[2304,0.0938,39697620],[2368,0.0938,40986810],[2432,0.0942,42318803],[2496,0.094,43612162],[2560,0.0944,44760038],[2577,0.0944,45286850]]');
INSERT INTO "metric_chunk" VALUES(30,18,0,41,64,2577,0.0878,0.1828,'[[64,0.1828,1132614],[128,0.1468,1669662],[192,0.1418,2433524],[256,0.1276,3146815],[320,0.1326,4089488],[384,0.1182,4856875],[448,0.1134,5810628],[512,0.1208,7227560],[576,0.1252,7866803],[640,0.106,8416944],[704,0.1138,8964136],[768,0.1102,9625560],[832,0.1114,10904126],[896,0.1078,11542802],[960,0.1104,12947248],[1024,0.113,14519928],[1088,0.105,16059701],[1152,0.1064,17063454],[1216,0.0992,17579241],[1280,0.1006,18106809],[1344,0.0968,19148045],[1408,0.097,20316661],[1472,0.0976,21486802],[1536,0.0998,22699571],[1600,0.0986,24055140],[1664,0.0926,25618745],[1728,0.0952,27333263],[1792,0.0938,28912054],[1856,0.0924,30396968],[1920,0.09,32060315],[1984,0.0922,33766793],[2048,0.0878,35203011],[2112,0.09,36406368],[2176,0.0902,37557733],[2240,0.089,38860320],[2304,0.0894,40578817],[2368,0.0896,42342815],[2432,0.0894,44174821],[2496,0.0894,46106798],[2560,0.0896,47844892],[2577,0.0896,48366824]]');
CREATE TABLE metric_latest (
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  time REAL NOT NULL,
  min REAL,
  max REAL,
  points INTEGER NOT NULL,
  PRIMARY KEY (sweep, trial, metric),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
) WITHOUT ROWID;
INSERT INTO "metric_latest" VALUES(1,1,18,1,2577,0.1132,1.79587777836330604553e+09,0.1108,0.2488,41);
INSERT INTO "metric_latest" VALUES(1,2,18,1,2577,0.1106,1.79587777442650794977e+09,0.1088,0.1966,41);
INSERT INTO "metric_latest" VALUES(1,3,18,1,2577,0.1148,1.79587778448883604999e+09,0.1124,0.2016,41);
INSERT INTO "metric_latest" VALUES(1,4,18,1,2577,0.1132,1.7958777893431410789e+09,0.1122,0.2372,41);
INSERT INTO "metric_latest" VALUES(1,5,18,1,2577,0.1162,1.79587779240931892394e+09,0.1136,0.2134,41);
INSERT INTO "metric_latest" VALUES(1,6,18,1,2577,0.1116,1795877800.65002,0.1106,0.2272,41);
INSERT INTO "metric_latest" VALUES(1,7,18,1,2577,0.1068,1.79587779763585305217e+09,0.1056,0.2236,41);
INSERT INTO "metric_latest" VALUES(1,8,18,1,2577,0.1054,1.79587780585754489904e+09,0.1032,0.2334,41);
INSERT INTO "metric_latest" VALUES(1,9,18,1,2577,0.1046,1795877808.76685,0.1028,0.2052,41);
INSERT INTO "metric_latest" VALUES(1,10,18,1,2577,0.104,1.79587781705479598045e+09,0.1034,0.2172,41);
INSERT INTO "metric_latest" VALUES(1,11,18,1,2577,0.1052,1.79587781386007499691e+09,0.1042,0.195,41);
INSERT INTO "metric_latest" VALUES(1,12,18,1,2577,0.1046,1.79587782388436889647e+09,0.1046,0.215,41);
INSERT INTO "metric_latest" VALUES(1,13,18,1,2577,0.1126,1.79587782630682301528e+09,0.109,0.2058,41);
INSERT INTO "metric_latest" VALUES(1,14,18,1,2577,0.1072,1.79587783491965103147e+09,0.106,0.2042,41);
INSERT INTO "metric_latest" VALUES(1,15,18,1,2577,0.1064,1.79587783722285199159e+09,0.1054,0.2176,41);
INSERT INTO "metric_latest" VALUES(1,16,18,1,2577,0.1068,1.79587784098170304301e+09,0.1058,0.2116,41);
INSERT INTO "metric_latest" VALUES(1,17,18,1,2577,0.1084,1.79587784351848888395e+09,0.1072,0.2108,41);
INSERT INTO "metric_latest" VALUES(1,18,18,1,2577,0.109,1.79587784872190594671e+09,0.1086,0.207,41);
INSERT INTO "metric_latest" VALUES(1,19,18,1,2577,0.1026,1.79587785411772298815e+09,0.1014,0.2514,41);
INSERT INTO "metric_latest" VALUES(1,20,18,1,2577,0.1026,1.79587785923898410802e+09,0.1026,0.221,41);
INSERT INTO "metric_latest" VALUES(1,21,18,1,2577,0.1066,1.79587786517891407015e+09,0.1042,0.2036,41);
INSERT INTO "metric_latest" VALUES(1,22,18,1,2577,0.106,1.79587786441114711762e+09,0.1042,0.2112,41);
INSERT INTO "metric_latest" VALUES(1,23,18,1,2577,0.1058,1.79587787470491600039e+09,0.1046,0.2014,41);
INSERT INTO "metric_latest" VALUES(1,24,18,1,2577,0.1052,1.79587787437785911565e+09,0.1052,0.2346,41);
INSERT INTO "metric_latest" VALUES(1,25,18,1,2577,0.0934,1795877954.5628,0.0914,0.178,41);
INSERT INTO "metric_latest" VALUES(1,26,18,1,2577,0.0914,1.79587793654680895807e+09,0.0898,0.1808,41);
INSERT INTO "metric_latest" VALUES(1,27,18,1,2577,0.0892,1.79587801268682289122e+09,0.0862,0.1664,41);
INSERT INTO "metric_latest" VALUES(1,28,18,1,2577,0.0956,1.79587804263140511512e+09,0.0936,0.1732,41);
INSERT INTO "metric_latest" VALUES(1,29,18,1,2577,0.0944,1795878060.28685,0.0936,0.186,41);
INSERT INTO "metric_latest" VALUES(1,30,18,1,2577,0.0896,1.79587809236682391161e+09,0.0878,0.1828,41);
CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO "metric_name" VALUES(18,'val/error');
CREATE TABLE metric_replaced (
  attempt INTEGER NOT NULL REFERENCES attempt (id),
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  number INTEGER NOT NULL,
  points INTEGER NOT NULL,
  first_step INTEGER NOT NULL,  -- the smallest
  data TEXT NOT NULL,
  UNIQUE (attempt, metric, number)
);
CREATE TABLE metric_unsettled (
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  metric INTEGER NOT NULL,
  PRIMARY KEY (sweep, trial, metric)
) WITHOUT ROWID;
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- ids are printed in job names: never use one twice
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  backend TEXT NOT NULL,
  file_name TEXT NOT NULL,
  text TEXT NOT NULL,
  metric TEXT NOT NULL,
  goal TEXT NOT NULL,
  target REAL,
  state TEXT NOT NULL,
  submitted REAL,
  ended REAL,
  notes TEXT NOT NULL
, targets TEXT NOT NULL DEFAULT '[]', tags TEXT NOT NULL DEFAULT '[]', comment TEXT NOT NULL DEFAULT '', archived REAL, configurations_version INTEGER NOT NULL DEFAULT 0);
INSERT INTO "sweep" VALUES(1,'optimizers','root','local','optimizers.yaml','# Which of five optimizers reaches 14 % validation error in the fewest steps? Six seeds each.
name: optimizers
method: grid
metric: {name: val/error, goal: minimize, target: 0.14}
seeds: 6
parameters:
  optimizer.name: {values: [sgd, momentum, adamw, lamb, muon]}
train:
  model: {name: mlp, hidden: [128]}
  data: {name: fashion-mnist}
  batch: {global: 64}
  epochs: 3
  eval: {every_steps: 64}
  optimizer: {lr: auto}
  schedule: {decay: cosine}
resources: {nodes: 1, ranks_per_node: 1, time: "00:10:00"}
','val/error','minimize',0.14,'finished',1.7958777696895983219e+09,1.79587809252167940137e+09,'[]','[0.14]','[]','',NULL,1);
CREATE TABLE sweep_environment (
  sweep INTEGER PRIMARY KEY REFERENCES sweep (id) ON DELETE CASCADE,
  entries TEXT NOT NULL
);
CREATE TABLE trial (
  sweep INTEGER NOT NULL REFERENCES sweep (id),
  trial INTEGER NOT NULL,
  configuration INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  hash TEXT NOT NULL,
  state TEXT NOT NULL,
  train TEXT NOT NULL,
  parameters TEXT NOT NULL,
  resources TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  ended REAL,
  reason TEXT NOT NULL,
  UNIQUE (sweep, trial)
);
INSERT INTO "trial" VALUES(1,1,1,1,'52a61cdcddb703dcdf678b7d356d8501','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"sgd"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"sgd"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.7958777784943575859e+09,'');
INSERT INTO "trial" VALUES(1,2,1,2,'52a61cdcddb703dcdf678b7d356d8501','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"sgd"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"sgd"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587777468288826944e+09,'');
INSERT INTO "trial" VALUES(1,3,1,3,'52a61cdcddb703dcdf678b7d356d8501','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"sgd"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"sgd"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587778464592385295e+09,'');
INSERT INTO "trial" VALUES(1,4,1,4,'52a61cdcddb703dcdf678b7d356d8501','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"sgd"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"sgd"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587778944184899322e+09,'');
INSERT INTO "trial" VALUES(1,5,1,5,'52a61cdcddb703dcdf678b7d356d8501','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"sgd"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"sgd"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587779253193092349e+09,'');
INSERT INTO "trial" VALUES(1,6,1,6,'52a61cdcddb703dcdf678b7d356d8501','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"sgd"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"sgd"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587780077319717408e+09,'');
INSERT INTO "trial" VALUES(1,7,2,1,'35bf5ca5ab785d1ff7a88adcf88ec5af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"momentum"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"momentum"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587779787923502916e+09,'');
INSERT INTO "trial" VALUES(1,8,2,2,'35bf5ca5ab785d1ff7a88adcf88ec5af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"momentum"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"momentum"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587780615255880349e+09,'');
INSERT INTO "trial" VALUES(1,9,2,3,'35bf5ca5ab785d1ff7a88adcf88ec5af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"momentum"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"momentum"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587780898108339308e+09,'');
INSERT INTO "trial" VALUES(1,10,2,4,'35bf5ca5ab785d1ff7a88adcf88ec5af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"momentum"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"momentum"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587781739658522602e+09,'');
INSERT INTO "trial" VALUES(1,11,2,5,'35bf5ca5ab785d1ff7a88adcf88ec5af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"momentum"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"momentum"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587781407506108283e+09,'');
INSERT INTO "trial" VALUES(1,12,2,6,'35bf5ca5ab785d1ff7a88adcf88ec5af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"momentum"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"momentum"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587782400315928458e+09,'');
INSERT INTO "trial" VALUES(1,13,3,1,'552ac877170ba0eaafa07c3aa757020f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"adamw"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"adamw"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587782656820106512e+09,'');
INSERT INTO "trial" VALUES(1,14,3,2,'552ac877170ba0eaafa07c3aa757020f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"adamw"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"adamw"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587783521941757205e+09,'');
INSERT INTO "trial" VALUES(1,15,3,3,'552ac877170ba0eaafa07c3aa757020f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"adamw"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"adamw"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587783751896595957e+09,'');
INSERT INTO "trial" VALUES(1,16,3,4,'552ac877170ba0eaafa07c3aa757020f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"adamw"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"adamw"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587784136292409904e+09,'');
INSERT INTO "trial" VALUES(1,17,3,5,'552ac877170ba0eaafa07c3aa757020f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"adamw"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"adamw"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587784369390273094e+09,'');
INSERT INTO "trial" VALUES(1,18,3,6,'552ac877170ba0eaafa07c3aa757020f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"adamw"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"adamw"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587784907684087755e+09,'');
INSERT INTO "trial" VALUES(1,19,4,1,'6495850735b8a889cc0aa0051506e079','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"lamb"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"lamb"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587785424299502378e+09,'');
INSERT INTO "trial" VALUES(1,20,4,2,'6495850735b8a889cc0aa0051506e079','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"lamb"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"lamb"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587785934711813926e+09,'');
INSERT INTO "trial" VALUES(1,21,4,3,'6495850735b8a889cc0aa0051506e079','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"lamb"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"lamb"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587786530393338202e+09,'');
INSERT INTO "trial" VALUES(1,22,4,4,'6495850735b8a889cc0aa0051506e079','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"lamb"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"lamb"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.7958778645069012642e+09,'');
INSERT INTO "trial" VALUES(1,23,4,5,'6495850735b8a889cc0aa0051506e079','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"lamb"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"lamb"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587787497485971447e+09,'');
INSERT INTO "trial" VALUES(1,24,4,6,'6495850735b8a889cc0aa0051506e079','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"lamb"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"lamb"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.7958778746389179229e+09,'');
INSERT INTO "trial" VALUES(1,25,5,1,'c4ff2c72749a48b3b5b3d2450f45804b','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"muon"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"muon"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587795474690723419e+09,'');
INSERT INTO "trial" VALUES(1,26,5,2,'c4ff2c72749a48b3b5b3d2450f45804b','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"muon"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"muon"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587793686687946319e+09,'');
INSERT INTO "trial" VALUES(1,27,5,3,'c4ff2c72749a48b3b5b3d2450f45804b','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"muon"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"muon"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587801285092473033e+09,'');
INSERT INTO "trial" VALUES(1,28,5,4,'c4ff2c72749a48b3b5b3d2450f45804b','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"muon"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"muon"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587804286993980408e+09,'');
INSERT INTO "trial" VALUES(1,29,5,5,'c4ff2c72749a48b3b5b3d2450f45804b','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"muon"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"muon"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587806043907594684e+09,'');
INSERT INTO "trial" VALUES(1,30,5,6,'c4ff2c72749a48b3b5b3d2450f45804b','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist"},"batch":{"global":64},"epochs":3,"eval":{"every_steps":64},"optimizer":{"lr":"auto","name":"muon"},"schedule":{"decay":"cosine"}}','{"optimizer.name":"muon"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":600}',1,1.79587809251894164083e+09,'');
CREATE UNIQUE INDEX trial_once ON trial (sweep, hash, seed) WHERE hash <> '';
CREATE INDEX event_of ON event (sweep, trial, attempt);
CREATE INDEX trial_state ON trial (sweep, trial, state, configuration, seed);
CREATE VIEW trials AS
SELECT sweep || '.' || trial AS id, sweep, trial, configuration, seed, state, attempts, ended, reason,
       json_extract(resources, '$.nodes') AS nodes, parameters, train, resources
FROM trial;
CREATE VIEW metrics AS
SELECT a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt, n.name AS metric,
       json_extract(p.value, '$[0]') AS step, CAST(json_extract(p.value, '$[1]') AS REAL) AS value,
       (a.clock + json_extract(p.value, '$[2]')) / 1e6 AS time
FROM attempt AS a
JOIN metric_chunk AS c ON c.attempt = a.id
JOIN metric_name AS n ON n.id = c.metric
JOIN json_each(c.data) AS p;
CREATE VIEW hyperparameters AS
SELECT t.sweep AS sweep, t.trial AS trial, p.key AS name, p.value AS value, 1 AS varied,
       ifnull(json_extract(t.config, '$."' || replace(p.key, '.', '"."') || '"'), p.value) AS resolved
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_each(t.parameters) AS p
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), p.value, 0,
       ifnull(json_extract(t.config, p.fullkey), p.value)
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.train) AS p
WHERE p.type <> 'object' AND instr(p.fullkey, '[') = 0
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''))
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), NULL, 0, p.value
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.config) AS p
WHERE p.type NOT IN ('object', 'null') AND instr(p.fullkey, '[') = 0
  AND json_type(t.train, p.fullkey) IS NULL
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''));
CREATE VIEW sweeps AS
SELECT id AS sweep, name, owner, backend, file_name, metric, goal, target, state, submitted, ended, notes, text,
       targets, tags, comment, archived
FROM sweep;
CREATE VIEW ranks AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, c.key AS rank, json_extract(s.record, '$.node_list[' || c.key || ']') AS node,
       json_extract(s.ranks, '$.step') AS step,
       json_extract(s.ranks, '$.data_ms[' || c.key || ']') AS data_ms, c.value AS compute_ms,
       json_extract(s.ranks, '$.comm_exposed_ms[' || c.key || ']') AS comm_exposed_ms,
       json_extract(s.ranks, '$.skew_ms[' || c.key || ']') AS skew_ms,
       json_extract(s.ranks, '$.optimizer_ms[' || c.key || ']') AS optimizer_ms
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt
JOIN json_each(json_extract(s.ranks, '$.compute_ms')) AS c;
CREATE VIEW starts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, json_extract(s.record, '$.version') AS version,
       json_extract(s.record, '$.device') AS device, json_extract(s.record, '$.device_name') AS device_name,
       json_extract(s.record, '$.ranks') AS ranks, json_extract(s.record, '$.threads') AS threads,
       json_extract(s.record, '$.shards') AS shards, json_extract(s.record, '$.parameters') AS parameters,
       json_extract(s.record, '$.flops_per_sample') AS flops_per_sample,
       json_extract(s.record, '$.steps') AS steps, json_extract(s.record, '$.resumed_step') AS resumed_step,
       json_extract(s.record, '$.libraries') AS libraries, json_extract(s.record, '$.config') AS config,
       json_extract(s.record, '$.commit') AS commit_id, json_extract(s.record, '$.transport') AS transport,
       json_extract(s.record, '$.machines') AS machines
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt;
CREATE VIEW attempts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt,
       a.state AS state, a.backend AS backend, a.handle AS handle, a.folder AS folder,
       a.launched AS launched, a.started AS started, a.ended AS ended, a.ended - a.started AS seconds,
       a.nodes * (a.ended - a.started) AS node_seconds,
       a.nodes AS nodes, a.ranks AS ranks, a.node_list AS node_list, a.reason AS reason, a.exit_code AS exit_code,
       a.failed_rank AS failed_rank, a.failed_node AS failed_node,
       a.nodes * ifnull(json_extract(t.resources, '$.gpus_per_node'), 0) * (a.ended - a.started) AS gpu_seconds,
       a.started - a.launched AS queued_seconds, a.eligible AS eligible,
       a.size_reason AS size_reason
FROM attempt AS a JOIN trial AS t ON t.sweep = a.sweep AND t.trial = a.trial;
CREATE VIEW events AS
SELECT number, time, kind, sweep, trial, attempt,
       CASE WHEN kind = 'launching' AND json_valid(data)
            THEN json_remove(data, '$.token', '$.push_secret')
            WHEN kind = 'submitted' AND json_valid(data)
            THEN json_remove(data, '$.owner.grant') ELSE data END AS data
FROM event;
CREATE VIEW replaced_metrics AS
SELECT a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt, n.name AS metric,
       json_extract(p.value, '$[0]') AS step, CAST(json_extract(p.value, '$[1]') AS REAL) AS value,
       (a.clock + json_extract(p.value, '$[2]')) / 1e6 AS time
FROM attempt AS a
JOIN metric_replaced AS c ON c.attempt = a.id
JOIN metric_name AS n ON n.id = c.metric
JOIN json_each(c.data) AS p;
CREATE VIEW latest_metrics AS
SELECT l.sweep AS sweep, l.trial AS trial, n.name AS metric, l.attempt AS attempt, l.step AS step, l.value AS value,
       l.time AS time, l.min AS min, l.max AS max, l.points AS points,
       l.value IS NULL OR abs(l.value) > 1.7976931348623157e308 AS diverged
FROM metric_latest AS l
JOIN metric_name AS n ON n.id = l.metric;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sweep',1);
INSERT INTO "sqlite_sequence" VALUES('event',212);
COMMIT;
