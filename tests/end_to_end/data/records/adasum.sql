-- thalweg run adasum.yaml --backend local
-- commit 133d85fc30eb, 2026-11-27, 326 s on 2 cores of Intel(R) Xeon(R) Processor @ 2.50GHz
-- made by tests/end_to_end/record.py adasum
PRAGMA application_id = 1416132455;
PRAGMA user_version = 12;
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
INSERT INTO "attempt" VALUES(1,1,1,1,'979c6a1b3c8a837ca1628ed4e215eb75','finished','local','local:979c6a1b','/recorded/home/runs/1/1/1',1.79580996246827125552e+09,1.79580996250148510937e+09,1795809993.205,1,16,'vm','',0,NULL,'',94,1795809988000000,NULL,'');
INSERT INTO "attempt" VALUES(2,1,2,1,'e2fc084be56541d1c074e299f7c387b2','finished','local','local:e2fc084b','/recorded/home/runs/1/2/1',1.79580999322102665902e+09,1.79580999322948622705e+09,1795810019.495,1,16,'vm','',0,NULL,'',94,1795810015000000,NULL,'');
INSERT INTO "attempt" VALUES(3,1,3,1,'8da21fbc8c5975a9aef4daca63004427','finished','local','local:8da21fbc','/recorded/home/runs/1/3/1',1.7958100196866290569e+09,1.79581001969348716734e+09,1795810042.606,1,16,'vm','',0,NULL,'',94,1795810039000000,NULL,'');
INSERT INTO "attempt" VALUES(4,1,4,1,'f6dfd4ce3cc5f6d6213f868adf733a85','finished','local','local:f6dfd4ce','/recorded/home/runs/1/4/1',1795810042.65933,1.79581004267748785014e+09,1795810066.782,1,16,'vm','',0,NULL,'',94,1795810063000000,NULL,'');
INSERT INTO "attempt" VALUES(5,1,5,1,'ba906e5565fc6ac7265df846377d3f80','finished','local','local:ba906e55','/recorded/home/runs/1/5/1',1.79581006683211469648e+09,1.7958100668574888706e+09,1795810092.215,1,16,'vm','',0,NULL,'',94,1795810088000000,NULL,'');
INSERT INTO "attempt" VALUES(6,1,6,1,'54e4fd981ac0fccbcbb58161335089ce','finished','local','local:54e4fd98','/recorded/home/runs/1/6/1',1.79581009231782364843e+09,1.79581009233348965641e+09,1795810121.617,1,16,'vm','',0,NULL,'',94,1795810115000000,NULL,'');
INSERT INTO "attempt" VALUES(7,1,7,1,'6a881b9a8d95eed5b4e1669d6dc54abd','finished','local','local:6a881b9a','/recorded/home/runs/1/7/1',1.79581012171971344951e+09,1.79581012174149060251e+09,1795810153.05,1,16,'vm','',0,NULL,'',94,1795810148000000,NULL,'');
INSERT INTO "attempt" VALUES(8,1,8,1,'c9be8b62f95551d98617df573ae79154','finished','local','local:c9be8b62','/recorded/home/runs/1/8/1',1.79581015312721371649e+09,1.79581015313749170307e+09,1795810179.339,1,16,'vm','',0,NULL,'',94,1795810175000000,NULL,'');
INSERT INTO "attempt" VALUES(9,1,9,1,'a345135d5788b61941792a005b11d0e6','finished','local','local:a345135d','/recorded/home/runs/1/9/1',1.79581017955668783194e+09,1.79581017956549262998e+09,1795810190.179,1,16,'vm','',0,NULL,'',94,1795810187000000,NULL,'');
INSERT INTO "attempt" VALUES(10,1,10,1,'45b7daeec47a72990d78048b94eab1bc','finished','local','local:45b7daee','/recorded/home/runs/1/10/1',1.79581019035907530788e+09,1.79581019037749290466e+09,1795810201.732,1,16,'vm','',0,NULL,'',94,1795810198000000,NULL,'');
INSERT INTO "attempt" VALUES(11,1,11,1,'6e2614bfe051ac597a950675ee461f7a','finished','local','local:6e2614bf','/recorded/home/runs/1/11/1',1.79581020183887743943e+09,1.79581020184149336817e+09,1795810211.499,1,16,'vm','',0,NULL,'',94,1795810208000000,NULL,'');
INSERT INTO "attempt" VALUES(12,1,12,1,'d2a106bace84459771659a303e1a83f8','finished','local','local:d2a106ba','/recorded/home/runs/1/12/1',1.7958102115589735508e+09,1.79581021156949377061e+09,1795810220.001,1,16,'vm','',0,NULL,'',94,1795810217000000,NULL,'');
INSERT INTO "attempt" VALUES(13,1,13,1,'43c59dcc5cae6a4d4a31a4bff0a7af66','finished','local','local:43c59dcc','/recorded/home/runs/1/13/1',1.79581022010303950307e+09,1.79581022011749410626e+09,1795810230.834,1,16,'vm','',0,NULL,'',94,1795810227000000,NULL,'');
INSERT INTO "attempt" VALUES(14,1,14,1,'698d64537b194b2b6a0d16a1310e9e4b','finished','local','local:698d6453','/recorded/home/runs/1/14/1',1.79581023100719070441e+09,1.79581023102949452396e+09,1795810240.369,1,16,'vm','',0,NULL,'',94,1795810237000000,NULL,'');
INSERT INTO "attempt" VALUES(15,1,15,1,'5d34f62e89d0d7d75cd68110ec44e1cf','finished','local','local:5d34f62e','/recorded/home/runs/1/15/1',1.795810240467237711e+09,1.79581024048949480058e+09,1795810250.794,1,16,'vm','',0,NULL,'',94,1795810247000000,NULL,'');
INSERT INTO "attempt" VALUES(16,1,16,1,'3201e1f3424268df979108e367716585','finished','local','local:3201e1f3','/recorded/home/runs/1/16/1',1.79581025091057229037e+09,1.79581025091749501231e+09,1795810260.807,1,16,'vm','',0,NULL,'',94,1795810258000000,NULL,'');
INSERT INTO "attempt" VALUES(17,1,17,1,'eb9ac854df4050659f61c96b92d427c3','finished','local','local:eb9ac854','/recorded/home/runs/1/17/1',1.79581026091244697574e+09,1.79581026092149543755e+09,1795810272.675,1,16,'vm','',0,NULL,'',94,1795810268000000,NULL,'');
INSERT INTO "attempt" VALUES(18,1,18,1,'78fbd76bfa22bad0bde0537a13e6902a','finished','local','local:78fbd76b','/recorded/home/runs/1/18/1',1.79581027284707617761e+09,1.79581027286549592012e+09,1795810287.948,1,16,'vm','',0,NULL,'',94,1795810284000000,NULL,'');
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
INSERT INTO "event" VALUES(1,1.79580996245685148241e+09,'submitted',1,0,0,'{"backend":"local","directory":"/recorded","keep":{"checkpoints":"all","points":0,"trials":0},"limits":{"max_nodes_in_flight":1,"max_retries":2,"node_hours":0.0},"metric":{"goal":"maximize","name":"val/accuracy"},"shapes":[{"count":18,"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}],"slurm":{}}');
INSERT INTO "event" VALUES(2,1.79580996246827125552e+09,'launching',1,1,1,'{"backend":"local","folder":"/recorded/home/runs/1/1/1","nodes":1,"push_secret":"left out 2","ranks":16,"token":"979c6a1b3c8a837ca1628ed4e215eb75"}');
INSERT INTO "event" VALUES(3,1.79580996247052335742e+09,'recorded',1,1,1,'{"handle":"local:979c6a1b"}');
INSERT INTO "event" VALUES(4,1.79580996249846363069e+09,'released',1,1,1,'{}');
INSERT INTO "event" VALUES(5,1.79580996277092599868e+09,'running',1,1,1,'{"node_list":"vm","started":1795809962.501485}');
INSERT INTO "event" VALUES(6,1.79580999321909523013e+09,'ended',1,1,1,'{"cause":"finished","ended":1795809993.205,"exit_code":0,"node_list":"vm","node_seconds":30.70351481437683,"reason":"","step":159}');
INSERT INTO "event" VALUES(7,1.79580999322026777266e+09,'trial_ended',1,1,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(8,1.79580999322102665902e+09,'launching',1,2,1,'{"backend":"local","folder":"/recorded/home/runs/1/2/1","nodes":1,"push_secret":"left out 8","ranks":16,"token":"e2fc084be56541d1c074e299f7c387b2"}');
INSERT INTO "event" VALUES(9,1.7958099932233426571e+09,'recorded',1,2,1,'{"handle":"local:e2fc084b"}');
INSERT INTO "event" VALUES(10,1.79580999322528314589e+09,'released',1,2,1,'{}');
INSERT INTO "event" VALUES(11,1.79580999347810173032e+09,'running',1,2,1,'{"node_list":"vm","started":1795809993.2294862}');
INSERT INTO "event" VALUES(12,1.79581001968509578704e+09,'ended',1,2,1,'{"cause":"finished","ended":1795810019.495,"exit_code":0,"node_list":"vm","node_seconds":26.26551365852356,"reason":"","step":159}');
INSERT INTO "event" VALUES(13,1.79581001968598651889e+09,'trial_ended',1,2,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(14,1.7958100196866290569e+09,'launching',1,3,1,'{"backend":"local","folder":"/recorded/home/runs/1/3/1","nodes":1,"push_secret":"left out 14","ranks":16,"token":"8da21fbc8c5975a9aef4daca63004427"}');
INSERT INTO "event" VALUES(15,1.79581001969267654416e+09,'recorded',1,3,1,'{"handle":"local:8da21fbc"}');
INSERT INTO "event" VALUES(16,1795810019.69387,'released',1,3,1,'{}');
INSERT INTO "event" VALUES(17,1795810019.94704,'running',1,3,1,'{"node_list":"vm","started":1795810019.6934872}');
INSERT INTO "event" VALUES(18,1.79581004265499424932e+09,'ended',1,3,1,'{"cause":"finished","ended":1795810042.606,"exit_code":0,"node_list":"vm","node_seconds":22.91251277923584,"reason":"","step":159}');
INSERT INTO "event" VALUES(19,1.79581004265574049947e+09,'trial_ended',1,3,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(20,1795810042.65933,'launching',1,4,1,'{"backend":"local","folder":"/recorded/home/runs/1/4/1","nodes":1,"push_secret":"left out 20","ranks":16,"token":"f6dfd4ce3cc5f6d6213f868adf733a85"}');
INSERT INTO "event" VALUES(21,1.79581004267099094392e+09,'recorded',1,4,1,'{"handle":"local:f6dfd4ce"}');
INSERT INTO "event" VALUES(22,1.79581004268290901184e+09,'released',1,4,1,'{}');
INSERT INTO "event" VALUES(23,1.79581004293361806874e+09,'running',1,4,1,'{"node_list":"vm","started":1795810042.6774879}');
INSERT INTO "event" VALUES(24,1.79581006682900476455e+09,'ended',1,4,1,'{"cause":"finished","ended":1795810066.782,"exit_code":0,"node_list":"vm","node_seconds":24.104512214660645,"reason":"","step":159}');
INSERT INTO "event" VALUES(25,1.79581006683097577089e+09,'trial_ended',1,4,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(26,1.79581006683211469648e+09,'launching',1,5,1,'{"backend":"local","folder":"/recorded/home/runs/1/5/1","nodes":1,"push_secret":"left out 26","ranks":16,"token":"ba906e5565fc6ac7265df846377d3f80"}');
INSERT INTO "event" VALUES(27,1.79581006684303689006e+09,'recorded',1,5,1,'{"handle":"local:ba906e55"}');
INSERT INTO "event" VALUES(28,1.79581006686294865608e+09,'released',1,5,1,'{}');
INSERT INTO "event" VALUES(29,1.79581006711835861207e+09,'running',1,5,1,'{"node_list":"vm","started":1795810066.8574889}');
INSERT INTO "event" VALUES(30,1795810092.31637,'ended',1,5,1,'{"cause":"finished","ended":1795810092.215,"exit_code":0,"node_list":"vm","node_seconds":25.357511043548584,"reason":"","step":159}');
INSERT INTO "event" VALUES(31,1.79581009231716680523e+09,'trial_ended',1,5,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(32,1.79581009231782364843e+09,'launching',1,6,1,'{"backend":"local","folder":"/recorded/home/runs/1/6/1","nodes":1,"push_secret":"left out 32","ranks":16,"token":"54e4fd981ac0fccbcbb58161335089ce"}');
INSERT INTO "event" VALUES(33,1.79581009232400083544e+09,'recorded',1,6,1,'{"handle":"local:54e4fd98"}');
INSERT INTO "event" VALUES(34,1.79581009232925415037e+09,'released',1,6,1,'{}');
INSERT INTO "event" VALUES(35,1.79581009258016133312e+09,'running',1,6,1,'{"node_list":"vm","started":1795810092.3334897}');
INSERT INTO "event" VALUES(36,1.79581012170871090883e+09,'ended',1,6,1,'{"cause":"finished","ended":1795810121.617,"exit_code":0,"node_list":"vm","node_seconds":29.283510446548462,"reason":"","step":159}');
INSERT INTO "event" VALUES(37,1.79581012171491813658e+09,'trial_ended',1,6,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(38,1.79581012171971344951e+09,'launching',1,7,1,'{"backend":"local","folder":"/recorded/home/runs/1/7/1","nodes":1,"push_secret":"left out 38","ranks":16,"token":"6a881b9a8d95eed5b4e1669d6dc54abd"}');
INSERT INTO "event" VALUES(39,1.79581012172738933557e+09,'recorded',1,7,1,'{"handle":"local:6a881b9a"}');
INSERT INTO "event" VALUES(40,1.79581012173506045347e+09,'released',1,7,1,'{}');
INSERT INTO "event" VALUES(41,1.79581012198610806464e+09,'running',1,7,1,'{"node_list":"vm","started":1795810121.7414906}');
INSERT INTO "event" VALUES(42,1.79581015311666679378e+09,'ended',1,7,1,'{"cause":"finished","ended":1795810153.05,"exit_code":0,"node_list":"vm","node_seconds":31.308509349822998,"reason":"","step":159}');
INSERT INTO "event" VALUES(43,1.79581015311987423894e+09,'trial_ended',1,7,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(44,1.79581015312721371649e+09,'launching',1,8,1,'{"backend":"local","folder":"/recorded/home/runs/1/8/1","nodes":1,"push_secret":"left out 44","ranks":16,"token":"c9be8b62f95551d98617df573ae79154"}');
INSERT INTO "event" VALUES(45,1.79581015313083982472e+09,'recorded',1,8,1,'{"handle":"local:c9be8b62"}');
INSERT INTO "event" VALUES(46,1.79581015313484573369e+09,'released',1,8,1,'{}');
INSERT INTO "event" VALUES(47,1.7958101533856673241e+09,'running',1,8,1,'{"node_list":"vm","started":1795810153.1374917}');
INSERT INTO "event" VALUES(48,1.79581017955559325222e+09,'ended',1,8,1,'{"cause":"finished","ended":1795810179.339,"exit_code":0,"node_list":"vm","node_seconds":26.201508283615112,"reason":"","step":159}');
INSERT INTO "event" VALUES(49,1.79581017955620121954e+09,'trial_ended',1,8,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(50,1.79581017955668783194e+09,'launching',1,9,1,'{"backend":"local","folder":"/recorded/home/runs/1/9/1","nodes":1,"push_secret":"left out 50","ranks":16,"token":"a345135d5788b61941792a005b11d0e6"}');
INSERT INTO "event" VALUES(51,1.79581017955821537973e+09,'recorded',1,9,1,'{"handle":"local:a345135d"}');
INSERT INTO "event" VALUES(52,1.79581017955931878087e+09,'released',1,9,1,'{}');
INSERT INTO "event" VALUES(53,1.79581017981491732602e+09,'running',1,9,1,'{"node_list":"vm","started":1795810179.5654926}');
INSERT INTO "event" VALUES(54,1.79581019035217332837e+09,'ended',1,9,1,'{"cause":"finished","ended":1795810190.179,"exit_code":0,"node_list":"vm","node_seconds":10.613507270812988,"reason":"","step":159}');
INSERT INTO "event" VALUES(55,1.79581019035493636131e+09,'trial_ended',1,9,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(56,1.79581019035907530788e+09,'launching',1,10,1,'{"backend":"local","folder":"/recorded/home/runs/1/10/1","nodes":1,"push_secret":"left out 56","ranks":16,"token":"45b7daeec47a72990d78048b94eab1bc"}');
INSERT INTO "event" VALUES(57,1.79581019037099313736e+09,'recorded',1,10,1,'{"handle":"local:45b7daee"}');
INSERT INTO "event" VALUES(58,1.79581019037570762631e+09,'released',1,10,1,'{}');
INSERT INTO "event" VALUES(59,1.79581019062919855118e+09,'running',1,10,1,'{"node_list":"vm","started":1795810190.377493}');
INSERT INTO "event" VALUES(60,1.79581020183756399151e+09,'ended',1,10,1,'{"cause":"finished","ended":1795810201.732,"exit_code":0,"node_list":"vm","node_seconds":11.354507207870483,"reason":"","step":159}');
INSERT INTO "event" VALUES(61,1.79581020183829903604e+09,'trial_ended',1,10,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(62,1.79581020183887743943e+09,'launching',1,11,1,'{"backend":"local","folder":"/recorded/home/runs/1/11/1","nodes":1,"push_secret":"left out 62","ranks":16,"token":"6e2614bfe051ac597a950675ee461f7a"}');
INSERT INTO "event" VALUES(63,1.79581020184034323688e+09,'recorded',1,11,1,'{"handle":"local:6e2614bf"}');
INSERT INTO "event" VALUES(64,1.79581020184212803835e+09,'released',1,11,1,'{}');
INSERT INTO "event" VALUES(65,1.79581020209277796746e+09,'running',1,11,1,'{"node_list":"vm","started":1795810201.8414934}');
INSERT INTO "event" VALUES(66,1.79581021155646872525e+09,'ended',1,11,1,'{"cause":"finished","ended":1795810211.499,"exit_code":0,"node_list":"vm","node_seconds":9.657506704330444,"reason":"","step":159}');
INSERT INTO "event" VALUES(67,1.79581021155706787107e+09,'trial_ended',1,11,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(68,1.7958102115589735508e+09,'launching',1,12,1,'{"backend":"local","folder":"/recorded/home/runs/1/12/1","nodes":1,"push_secret":"left out 68","ranks":16,"token":"d2a106bace84459771659a303e1a83f8"}');
INSERT INTO "event" VALUES(69,1.79581021156691026689e+09,'recorded',1,12,1,'{"handle":"local:d2a106ba"}');
INSERT INTO "event" VALUES(70,1.7958102115714738369e+09,'released',1,12,1,'{}');
INSERT INTO "event" VALUES(71,1.79581021183899927143e+09,'running',1,12,1,'{"node_list":"vm","started":1795810211.5694938}');
INSERT INTO "event" VALUES(72,1.79581022009528708457e+09,'ended',1,12,1,'{"cause":"finished","ended":1795810220.001,"exit_code":0,"node_list":"vm","node_seconds":8.431506156921387,"reason":"","step":159}');
INSERT INTO "event" VALUES(73,1.79581022009889483452e+09,'trial_ended',1,12,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(74,1.79581022010303950307e+09,'launching',1,13,1,'{"backend":"local","folder":"/recorded/home/runs/1/13/1","nodes":1,"push_secret":"left out 74","ranks":16,"token":"43c59dcc5cae6a4d4a31a4bff0a7af66"}');
INSERT INTO "event" VALUES(75,1.79581022011491394044e+09,'recorded',1,13,1,'{"handle":"local:43c59dcc"}');
INSERT INTO "event" VALUES(76,1.79581022011936950683e+09,'released',1,13,1,'{}');
INSERT INTO "event" VALUES(77,1.79581022037226963041e+09,'running',1,13,1,'{"node_list":"vm","started":1795810220.117494}');
INSERT INTO "event" VALUES(78,1.79581023099831318858e+09,'ended',1,13,1,'{"cause":"finished","ended":1795810230.834,"exit_code":0,"node_list":"vm","node_seconds":10.716506004333496,"reason":"","step":159}');
INSERT INTO "event" VALUES(79,1.79581023100289154052e+09,'trial_ended',1,13,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(80,1.79581023100719070441e+09,'launching',1,14,1,'{"backend":"local","folder":"/recorded/home/runs/1/14/1","nodes":1,"push_secret":"left out 80","ranks":16,"token":"698d64537b194b2b6a0d16a1310e9e4b"}');
INSERT INTO "event" VALUES(81,1.79581023102295780184e+09,'recorded',1,14,1,'{"handle":"local:698d6453"}');
INSERT INTO "event" VALUES(82,1.79581023103337597849e+09,'released',1,14,1,'{}');
INSERT INTO "event" VALUES(83,1.79581023128750634195e+09,'running',1,14,1,'{"node_list":"vm","started":1795810231.0294945}');
INSERT INTO "event" VALUES(84,1.79581024046577620504e+09,'ended',1,14,1,'{"cause":"finished","ended":1795810240.369,"exit_code":0,"node_list":"vm","node_seconds":9.339505434036255,"reason":"","step":159}');
INSERT INTO "event" VALUES(85,1.79581024046666336063e+09,'trial_ended',1,14,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(86,1.795810240467237711e+09,'launching',1,15,1,'{"backend":"local","folder":"/recorded/home/runs/1/15/1","nodes":1,"push_secret":"left out 86","ranks":16,"token":"5d34f62e89d0d7d75cd68110ec44e1cf"}');
INSERT INTO "event" VALUES(87,1.79581024047970938678e+09,'recorded',1,15,1,'{"handle":"local:5d34f62e"}');
INSERT INTO "event" VALUES(88,1.79581024049347496036e+09,'released',1,15,1,'{}');
INSERT INTO "event" VALUES(89,1.79581024074420499796e+09,'running',1,15,1,'{"node_list":"vm","started":1795810240.4894948}');
INSERT INTO "event" VALUES(90,1.79581025090948534009e+09,'ended',1,15,1,'{"cause":"finished","ended":1795810250.794,"exit_code":0,"node_list":"vm","node_seconds":10.304505109786987,"reason":"","step":159}');
INSERT INTO "event" VALUES(91,1.79581025091011691093e+09,'trial_ended',1,15,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(92,1.79581025091057229037e+09,'launching',1,16,1,'{"backend":"local","folder":"/recorded/home/runs/1/16/1","nodes":1,"push_secret":"left out 92","ranks":16,"token":"3201e1f3424268df979108e367716585"}');
INSERT INTO "event" VALUES(93,1.7958102509118430614e+09,'recorded',1,16,1,'{"handle":"local:3201e1f3"}');
INSERT INTO "event" VALUES(94,1.79581025091912889479e+09,'released',1,16,1,'{}');
INSERT INTO "event" VALUES(95,1.79581025117466878894e+09,'running',1,16,1,'{"node_list":"vm","started":1795810250.917495}');
INSERT INTO "event" VALUES(96,1.79581026091096901896e+09,'ended',1,16,1,'{"cause":"finished","ended":1795810260.807,"exit_code":0,"node_list":"vm","node_seconds":9.88950490951538,"reason":"","step":159}');
INSERT INTO "event" VALUES(97,1.79581026091182160376e+09,'trial_ended',1,16,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(98,1.79581026091244697574e+09,'launching',1,17,1,'{"backend":"local","folder":"/recorded/home/runs/1/17/1","nodes":1,"push_secret":"left out 98","ranks":16,"token":"eb9ac854df4050659f61c96b92d427c3"}');
INSERT INTO "event" VALUES(99,1.79581026091410827635e+09,'recorded',1,17,1,'{"handle":"local:eb9ac854"}');
INSERT INTO "event" VALUES(100,1.79581026092069864275e+09,'released',1,17,1,'{}');
INSERT INTO "event" VALUES(101,1.79581026117547774313e+09,'running',1,17,1,'{"node_list":"vm","started":1795810260.9214954}');
INSERT INTO "event" VALUES(102,1.79581027283767676351e+09,'ended',1,17,1,'{"cause":"finished","ended":1795810272.675,"exit_code":0,"node_list":"vm","node_seconds":11.753504514694214,"reason":"","step":159}');
INSERT INTO "event" VALUES(103,1.79581027284290313723e+09,'trial_ended',1,17,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(104,1.79581027284707617761e+09,'launching',1,18,1,'{"backend":"local","folder":"/recorded/home/runs/1/18/1","nodes":1,"push_secret":"left out 104","ranks":16,"token":"78fbd76bfa22bad0bde0537a13e6902a"}');
INSERT INTO "event" VALUES(105,1795810272.85895,'recorded',1,18,1,'{"handle":"local:78fbd76b"}');
INSERT INTO "event" VALUES(106,1.79581027286361098295e+09,'released',1,18,1,'{}');
INSERT INTO "event" VALUES(107,1.79581027311715984342e+09,'running',1,18,1,'{"node_list":"vm","started":1795810272.865496}');
INSERT INTO "event" VALUES(108,1.79581028817834568024e+09,'ended',1,18,1,'{"cause":"finished","ended":1795810287.948,"exit_code":0,"node_list":"vm","node_seconds":15.082504034042358,"reason":"","step":159}');
INSERT INTO "event" VALUES(109,1.79581028817909073833e+09,'trial_ended',1,18,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(110,1.79581028817942953113e+09,'sweep_ended',1,0,0,'{"state":"finished"}');
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
INSERT INTO "metric_chunk" VALUES(1,17,0,3,53,159,0.8136,8.2719999999999993534e-01,'[[53,0.8136,1058984],[106,0.8254,3010931],[159,0.8271999999999999,4746215]]');
INSERT INTO "metric_chunk" VALUES(2,17,0,3,53,159,0.8142,8.28000000000000069277e-01,'[[53,0.8142,2499566],[106,0.825,3407243],[159,0.8280000000000001,4027318]]');
INSERT INTO "metric_chunk" VALUES(3,17,0,3,53,159,0.8206,0.8338,'[[53,0.8206,1171986],[106,0.8322,2247014],[159,0.8338,3060014]]');
INSERT INTO "metric_chunk" VALUES(4,17,0,3,53,159,0.8262,0.851,'[[53,0.8262,1315244],[106,0.8454,2259713],[159,0.851,3119526]]');
INSERT INTO "metric_chunk" VALUES(5,17,0,3,53,159,0.8268,0.8486,'[[53,0.8268,1446954],[106,0.8442000000000001,2951352],[159,0.8486,3751577]]');
INSERT INTO "metric_chunk" VALUES(6,17,0,3,53,159,0.8362,0.8526,'[[53,0.8362,2617575],[106,0.848,4043494],[159,0.8526,5304616]]');
INSERT INTO "metric_chunk" VALUES(7,17,0,3,53,159,8.14000000000000056843e-01,0.8528,'[[53,0.8140000000000001,1563950],[106,0.8422000000000001,2714936],[159,0.8528,4179866]]');
INSERT INTO "metric_chunk" VALUES(8,17,0,3,53,159,0.8156,0.8528,'[[53,0.8156,1803572],[106,0.8476,2871509],[159,0.8528,3826945]]');
INSERT INTO "metric_chunk" VALUES(9,17,0,3,53,159,0.7752,0.8484,'[[53,0.7752,1277545],[106,0.8404,2115079],[159,0.8484,2871632]]');
INSERT INTO "metric_chunk" VALUES(10,17,0,3,53,159,1.69000000000000039079e-01,2.32400000000000050981e-01,'[[53,0.16900000000000004,1433793],[106,0.21120000000000005,2428284],[159,0.23240000000000005,3484344]]');
INSERT INTO "metric_chunk" VALUES(11,17,0,3,53,159,0.2884,0.5334,'[[53,0.2884,1580223],[106,0.4,2472903],[159,0.5334,3338880]]');
INSERT INTO "metric_chunk" VALUES(12,17,0,3,53,159,1.85799999999999965183e-01,0.5986,'[[53,0.18579999999999997,1169133],[106,0.478,2014868],[159,0.5986,2759175]]');
INSERT INTO "metric_chunk" VALUES(13,17,0,3,53,159,0.8378,0.869,'[[53,0.8378,1769829],[106,0.8648,2752151],[159,0.869,3648634]]');
INSERT INTO "metric_chunk" VALUES(14,17,0,3,53,159,8.31199999999999938893e-01,0.8654,'[[53,0.8311999999999999,1053809],[106,0.8582,2168722],[159,0.8654,3184301]]');
INSERT INTO "metric_chunk" VALUES(15,17,0,3,53,159,8.35199999999999942446e-01,0.8688,'[[53,0.8351999999999999,1405125],[106,0.8546,2499645],[159,0.8688,3546985]]');
INSERT INTO "metric_chunk" VALUES(16,17,0,3,53,159,0.8396,0.8748,'[[53,0.8396,927617],[106,0.8632,1778378],[159,0.8748,2656458]]');
INSERT INTO "metric_chunk" VALUES(17,17,0,3,53,159,8.0899999999999994138e-01,0.8708,'[[53,0.8089999999999999,1947033],[106,0.8648,3218835],[159,0.8708,4337958]]');
INSERT INTO "metric_chunk" VALUES(18,17,0,3,53,159,0.8366,0.8764,'[[53,0.8366,1723072],[106,0.869,2832978],[159,0.8764,3673899]]');
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
INSERT INTO "metric_latest" VALUES(1,1,17,1,159,8.2719999999999993534e-01,1.79580999274621486662e+09,0.8136,8.2719999999999993534e-01,3);
INSERT INTO "metric_latest" VALUES(1,2,17,1,159,8.28000000000000069277e-01,1.79581001902731800081e+09,0.8142,8.28000000000000069277e-01,3);
INSERT INTO "metric_latest" VALUES(1,3,17,1,159,0.8338,1.79581004206001353259e+09,0.8206,0.8338,3);
INSERT INTO "metric_latest" VALUES(1,4,17,1,159,0.851,1.79581006611952590946e+09,0.8262,0.851,3);
INSERT INTO "metric_latest" VALUES(1,5,17,1,159,0.8486,1.79581009175157713889e+09,0.8268,0.8486,3);
INSERT INTO "metric_latest" VALUES(1,6,17,1,159,0.8526,1.79581012030461573602e+09,0.8362,0.8526,3);
INSERT INTO "metric_latest" VALUES(1,7,17,1,159,0.8528,1.79581015217986631393e+09,8.14000000000000056843e-01,0.8528,3);
INSERT INTO "metric_latest" VALUES(1,8,17,1,159,0.8528,1.79581017882694458963e+09,0.8156,0.8528,3);
INSERT INTO "metric_latest" VALUES(1,9,17,1,159,0.8484,1.79581018987163209916e+09,0.7752,0.8484,3);
INSERT INTO "metric_latest" VALUES(1,10,17,1,159,2.32400000000000050981e-01,1.79581020148434352878e+09,1.69000000000000039079e-01,2.32400000000000050981e-01,3);
INSERT INTO "metric_latest" VALUES(1,11,17,1,159,0.5334,1.79581021133887982371e+09,0.2884,0.5334,3);
INSERT INTO "metric_latest" VALUES(1,12,17,1,159,0.5986,1.79581021975917506225e+09,1.85799999999999965183e-01,0.5986,3);
INSERT INTO "metric_latest" VALUES(1,13,17,1,159,0.869,1.79581023064863395692e+09,0.8378,0.869,3);
INSERT INTO "metric_latest" VALUES(1,14,17,1,159,0.8654,1.79581024018430066109e+09,8.31199999999999938893e-01,0.8654,3);
INSERT INTO "metric_latest" VALUES(1,15,17,1,159,0.8688,1.79581025054698467258e+09,8.35199999999999942446e-01,0.8688,3);
INSERT INTO "metric_latest" VALUES(1,16,17,1,159,0.8748,1.79581026065645790092e+09,0.8396,0.8748,3);
INSERT INTO "metric_latest" VALUES(1,17,17,1,159,0.8708,1.79581027233795785906e+09,8.0899999999999994138e-01,0.8708,3);
INSERT INTO "metric_latest" VALUES(1,18,17,1,159,0.8764,1.79581028767389845853e+09,0.8366,0.8764,3);
CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO "metric_name" VALUES(17,'val/accuracy');
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
INSERT INTO "sweep" VALUES(1,'adasum','root','local','adasum.yaml','# Sixteen workers that each compute a batch of 64, and three ways to put their gradients together: the average, the sum
# (an average whose rate is 16 times as large), and Adasum (Maleki et al., arXiv:2006.02924), which needs no other rate
# than one worker''s.
name: adasum
method: grid
metric: {name: val/accuracy, goal: maximize}
seeds: 3
parameters:
  sync.mode: {values: [sync, sync, adasum]}
  schedule.scaling: {values: [none, linear, none]}
  schedule.scaling_batch: {value: 64}
  optimizer.lr: {values: [0.02, 0.05]}
zip: [sync.mode, schedule.scaling]
when: {schedule.scaling_batch: {schedule.scaling: linear}}
train:
  model: {name: mlp, hidden: [128]}
  data: {name: fashion-mnist, validation: 5000, split: last}
  batch: {global: 1024}
  epochs: 3
  optimizer: {name: momentum, momentum: 0.9}
  schedule: {decay: cosine}
  noise: {every: 0}
resources: {ranks_per_node: 16}
limits: {max_nodes_in_flight: 1}
','val/accuracy','maximize',NULL,'finished',1.79580996245680642132e+09,1.79581028817942953113e+09,'[]','[]','[]','',NULL,1);
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
INSERT INTO "trial" VALUES(1,1,1,1,'ca0a611b38117e2a677f9928031dfb01','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"none","optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580999322026777266e+09,'');
INSERT INTO "trial" VALUES(1,2,1,2,'ca0a611b38117e2a677f9928031dfb01','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"none","optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581001968598651889e+09,'');
INSERT INTO "trial" VALUES(1,3,1,3,'ca0a611b38117e2a677f9928031dfb01','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"none","optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581004265574049947e+09,'');
INSERT INTO "trial" VALUES(1,4,2,1,'ed9ccdb520e76dd33b7693894511ea78','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"none","optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581006683097577089e+09,'');
INSERT INTO "trial" VALUES(1,5,2,2,'ed9ccdb520e76dd33b7693894511ea78','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"none","optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581009231716680523e+09,'');
INSERT INTO "trial" VALUES(1,6,2,3,'ed9ccdb520e76dd33b7693894511ea78','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"none","optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581012171491813658e+09,'');
INSERT INTO "trial" VALUES(1,7,3,1,'7b00f69411a95e79e8fdbcdb90ef9aa8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"linear","scaling_batch":64},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"linear","schedule.scaling_batch":64,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581015311987423894e+09,'');
INSERT INTO "trial" VALUES(1,8,3,2,'7b00f69411a95e79e8fdbcdb90ef9aa8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"linear","scaling_batch":64},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"linear","schedule.scaling_batch":64,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581017955620121954e+09,'');
INSERT INTO "trial" VALUES(1,9,3,3,'7b00f69411a95e79e8fdbcdb90ef9aa8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"linear","scaling_batch":64},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"linear","schedule.scaling_batch":64,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581019035493636131e+09,'');
INSERT INTO "trial" VALUES(1,10,4,1,'a442fd26c19cef157d033b61c3a642bf','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"linear","scaling_batch":64},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"linear","schedule.scaling_batch":64,"optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581020183829903604e+09,'');
INSERT INTO "trial" VALUES(1,11,4,2,'a442fd26c19cef157d033b61c3a642bf','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"linear","scaling_batch":64},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"linear","schedule.scaling_batch":64,"optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581021155706787107e+09,'');
INSERT INTO "trial" VALUES(1,12,4,3,'a442fd26c19cef157d033b61c3a642bf','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"linear","scaling_batch":64},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","schedule.scaling":"linear","schedule.scaling_batch":64,"optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581022009889483452e+09,'');
INSERT INTO "trial" VALUES(1,13,5,1,'1cb3ae67437ccbb571c6ad91b735c17f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"adasum"}}','{"sync.mode":"adasum","schedule.scaling":"none","optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581023100289154052e+09,'');
INSERT INTO "trial" VALUES(1,14,5,2,'1cb3ae67437ccbb571c6ad91b735c17f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"adasum"}}','{"sync.mode":"adasum","schedule.scaling":"none","optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581024046666336063e+09,'');
INSERT INTO "trial" VALUES(1,15,5,3,'1cb3ae67437ccbb571c6ad91b735c17f','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"adasum"}}','{"sync.mode":"adasum","schedule.scaling":"none","optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581025091011691093e+09,'');
INSERT INTO "trial" VALUES(1,16,6,1,'60fda9d581256acb7a0a56def3ad75fb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"adasum"}}','{"sync.mode":"adasum","schedule.scaling":"none","optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581026091182160376e+09,'');
INSERT INTO "trial" VALUES(1,17,6,2,'60fda9d581256acb7a0a56def3ad75fb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"adasum"}}','{"sync.mode":"adasum","schedule.scaling":"none","optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581027284290313723e+09,'');
INSERT INTO "trial" VALUES(1,18,6,3,'60fda9d581256acb7a0a56def3ad75fb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":1024},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"cosine","scaling":"none"},"noise":{"every":0},"sync":{"mode":"adasum"}}','{"sync.mode":"adasum","schedule.scaling":"none","optimizer.lr":0.05}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":16,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581028817909073833e+09,'');
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
CREATE VIEW latest_metrics AS
SELECT l.sweep AS sweep, l.trial AS trial, n.name AS metric, l.attempt AS attempt, l.step AS step, l.value AS value,
       l.time AS time, l.min AS min, l.max AS max, l.points AS points
FROM metric_latest AS l
JOIN metric_name AS n ON n.id = l.metric;
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
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sweep',1);
INSERT INTO "sqlite_sequence" VALUES('event',110);
COMMIT;
